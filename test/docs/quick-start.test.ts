// Runs the application of docs/quick-start.md as the page says, on what is built, as users have it.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { beforeAll, expect, it } from "vitest"
import { afterThis } from "../support/after-this.js"
import { build } from "../support/build.js"
import { reservePort } from "../support/ports.js"
import { makeProject } from "./compile.js"
import { readPage } from "./examples.js"

const page = readPage("docs/quick-start.md")

function blockOf(language: string): string {
  return new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "m").exec(page)?.[1] ?? ""
}

beforeAll(() => build("packages/sluice"), 120_000)

it("the application of docs/quick-start.md answers what the page says", async () => {
  const folder = makeProject(realpathSync(mkdtempSync(join(tmpdir(), "sluice-quick-start-"))))
  writeFileSync(join(folder, "server.mjs"), blockOf("js"))
  const { port, release } = await reservePort()
  const env = { ...process.env, PORT: String(port) }
  const child = spawn(process.execPath, ["server.mjs"], {
    cwd: folder,
    env,
    stdio: ["ignore", "pipe", "inherit"],
  })
  const ended = once(child, "exit")
  afterThis(async () => {
    child.kill("SIGKILL")
    await ended
    await release()
    rmSync(folder, { recursive: true })
  })
  const [printed] = await once(child.stdout.setEncoding("utf8"), "data")
  expect(printed).toBe(`listening on http://127.0.0.1:${port}\n`)
  let statuses = ""
  let last: Response | undefined
  for (let i = 0; i < 4; i++) {
    last = await fetch(`http://127.0.0.1:${port}/`)
    statuses += `${last.status}\n`
  }
  expect(statuses).toBe(blockOf("text"))
  expect(last?.headers.get("retry-after")).toMatch(/^\d+$/)
  expect(last?.headers.get("ratelimit")).toContain('"3/1m"')
})
