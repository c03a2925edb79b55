import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { ensureTool, isNewEnough } from "./ensure-tool.mjs"

let folder

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-tool-"))
})

afterEach(() => {
  rmSync(folder, { recursive: true })
  vi.unstubAllEnvs()
})

const tool = {
  command: "sluice-imaginary-tool",
  variable: "SLUICE_IMAGINARY_TOOL",
  oldest: "7.0",
  version: /v=(\d+(?:\.\d+)+)/,
  debianPackage: "sluice-imaginary-tool",
  byHand: { debian: "get it by apt", darwin: "get it by brew", other: "get it somehow" },
}

function program(name, version) {
  const path = join(folder, name)
  writeFileSync(path, `#!/bin/sh\necho v=${version}\n`, { mode: 0o755 })
  return path
}

it("takes the program on the PATH when it is new enough", () => {
  const path = program(tool.command, "7.0.15")
  vi.stubEnv("PATH", `${folder}:${process.env.PATH}`)
  expect(ensureTool(tool)).toBe(path)
})

it("prefers the program that the variable names", () => {
  program(tool.command, "7.0.15")
  const other = program("another", "8.0.0")
  vi.stubEnv("PATH", `${folder}:${process.env.PATH}`)
  vi.stubEnv(tool.variable, other)
  expect(ensureTool(tool)).toBe(other)
})

it("refuses a named program that is too old instead of looking elsewhere", () => {
  program(tool.command, "7.0.15")
  vi.stubEnv("PATH", `${folder}:${process.env.PATH}`)
  vi.stubEnv(tool.variable, program("old", "6.2.1"))
  expect(() => ensureTool(tool)).toThrow("is version 6.2.1, and 7.0 or newer is needed")
})

it("asks a program for its version in the program's own way, and reads it wherever it is printed", () => {
  const path = join(folder, tool.command)
  writeFileSync(path, '#!/bin/sh\n[ "$1" = -v ] && echo v=7.1 >&2\n', { mode: 0o755 })
  vi.stubEnv("PATH", `${folder}:${process.env.PATH}`)
  expect(ensureTool({ ...tool, versionArguments: ["-v"] })).toBe(path)
})

it("says the command to run when it cannot be had", () => {
  program(tool.command, "6.2.1")
  // With nothing else on the PATH there is no apt-get to fetch it with.
  vi.stubEnv("PATH", folder)
  expect(() => ensureTool(tool)).toThrow(/get it (somehow|by brew)[\s\S]*set SLUICE_IMAGINARY_TOOL/)
})

it.each([
  ["7.0", "7.0", true],
  ["7.0.15", "7.0", true],
  ["10.0.0", "7.0", true],
  ["7", "7.0", true],
  ["6.99", "7.0", false],
  ["7.0.9", "7.0.10", false],
])("compares versions by number: %s against %s", (found, oldest, enough) => {
  expect(isNewEnough(found, oldest)).toBe(enough)
})
