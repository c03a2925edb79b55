import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ManualClock } from "sluice/testing"
import { afterEach, beforeEach, expect, it } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import type { Route } from "../routes/route.js"
import { AccessLog } from "./access-log.js"
import { END, forwarded } from "./access-log.test-support.js"
import type { WriterTrouble } from "./line-writer.js"

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-access-log-"))
  file = join(folder, "access.log")
})

afterEach(() => rmSync(folder, { recursive: true }))

function paths(): string[] {
  return [...readFileSync(file, "utf8").matchAll(/"path":"(.*?)"/g)].map(([, path]) => path as string)
}

it("writes a line per request with its time of arrival, in the order in which they ended", async () => {
  const clock = new ManualClock(END)
  const log = new AccessLog({ format: "json", file, clock })
  log.write(forwarded({ path: "/1", durationMs: 1 }))
  clock.advance(2)
  log.write(forwarded({ path: "/2", durationMs: 0 }))
  await new Promise(setImmediate)
  log.write(forwarded({ path: "/3" }))
  await log.close()
  expect(paths()).toEqual(["/1", "/2", "/3"])
  const times = readFileSync(file, "utf8").match(/\d\d\.\d{3}Z/g)
  expect(times).toEqual(["36.249Z", "36.252Z", "36.002Z"])
})

it("writes a lone line soon", async () => {
  const log = new AccessLog({ format: "combined", file })
  log.write(forwarded({ path: "/alone" }))
  await eventually(() => readFileSync(file, "utf8").includes("GET /alone HTTP/1.1"))
  await log.close()
})

it("skips a line that cannot be formatted, and reports why", async () => {
  const troubles: WriterTrouble[] = []
  const log = new AccessLog({ format: "json", file, onTrouble: (trouble) => void troubles.push(trouble) })
  const route = Object.defineProperty({}, "name", {
    get() {
      throw new Error("nameless")
    },
  }) as Route
  for (const path of ["/1", "/2", "/3"]) log.write(forwarded(path === "/2" ? { path, route } : { path }))
  await log.close()
  expect(paths()).toEqual(["/1", "/3"])
  expect(troubles).toEqual([{ error: "Error: nameless" }])
})
