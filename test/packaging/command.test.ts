import { execFileSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { afterAll, beforeAll, expect, it } from "vitest"
import { build } from "../support/build.js"
import { root, unpack } from "./packed.js"

let folder: string

/** Below this repository's node_modules, where their dependencies are, and with nothing else of it. */
beforeAll(() => {
  build("packages/cli")
  const cache = join(root, "node_modules", ".cache")
  mkdirSync(cache, { recursive: true })
  folder = mkdtempSync(join(cache, "packed-"))
  for (const name of ["sluice", "@sluice/server", "@sluice/dashboard", "@sluice/cli"]) unpack(name, folder)
}, 120_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

function sluice(...args: string[]): string {
  const program = join(folder, "node_modules/@sluice/cli/bin/sluice.js")
  return execFileSync(process.execPath, [program, ...args], { cwd: folder, encoding: "utf8" })
}

it("runs from the packages as npm would install them", () => {
  const { version } = JSON.parse(readFileSync(join(root, "packages/cli/package.json"), "utf8"))
  expect(sluice("--version").trim()).toBe(version)
  // That of the service, from its own package.
  expect(JSON.parse(sluice("schema", "config"))).toHaveProperty("properties.gateway")
  expect(sluice("serve", "--print-config")).toContain("http:")
}, 60_000)

it("comes with the dashboard, beside the service that serves it", () => {
  expect(existsSync(join(folder, "node_modules/@sluice/dashboard/dist/index.html"))).toBe(true)
  expect(existsSync(join(folder, "node_modules/@sluice/server/example-rules.yaml"))).toBe(true)
})
