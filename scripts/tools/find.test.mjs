import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it, vi } from "vitest"
import { whyChromiumFails } from "./chromium.mjs"
import { findTool, isNewEnough } from "./find.mjs"

const NAME = "imaginary-tool"
const table = {
  [NAME]: {
    minVersion: "7.0",
    version: /v=(\d+(?:\.\d+)+)/,
    byHand: { other: "get it somehow" },
  },
}

let folder
let where

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-tool-"))
  where = { table, cache: join(folder, "cache") }
  vi.stubEnv("PATH", `${folder}:${process.env.PATH}`)
})

afterEach(() => {
  rmSync(folder, { recursive: true })
  vi.unstubAllEnvs()
})

function program(name, text) {
  const path = join(folder, name)
  mkdirSync(join(path, ".."), { recursive: true })
  writeFileSync(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 })
  return path
}

it("finds the program on the PATH if it is new enough", () => {
  const path = program(NAME, "echo v=7.0.15")
  expect(findTool(NAME, where)).toEqual({ path })
})

it("finds a program by any of its names, and at other paths", () => {
  const named = { ...table[NAME], commands: ["not-there", "another-name"] }
  const path = program("another-name", "echo v=7.0.15")
  expect(findTool(NAME, { ...where, table: { [NAME]: named } })).toEqual({ path })
  const placed = { ...table[NAME], places: ["/not/there", path] }
  expect(findTool(NAME, { ...where, table: { [NAME]: placed } })).toEqual({ path })
})

it("prefers the program that the variable names", () => {
  program(NAME, "echo v=7.0.15")
  const other = program("another", "echo v=8.0.0")
  vi.stubEnv("SLUICE_IMAGINARY_TOOL", other)
  expect(findTool(NAME, where)).toEqual({ path: other })
})

it("rejects a program that the variable names and that is too old, and does not look further", () => {
  program(NAME, "echo v=7.0.15")
  vi.stubEnv("SLUICE_IMAGINARY_TOOL", program("old", "echo v=6.2.1"))
  const reason = expect.stringContaining("is version 6.2.1, but 7.0 or newer is required")
  expect(findTool(NAME, where)).toEqual({ reason, isNamed: true })
})

it("uses the version arguments of the program, and reads its standard output and standard error", () => {
  const path = program(NAME, '[ "$1" = -v ] && echo v=7.1 >&2')
  const asked = { ...table[NAME], versionArguments: ["-v"] }
  expect(findTool(NAME, { ...where, table: { [NAME]: asked } })).toEqual({ path })
})

it("checks a downloaded program again each time", () => {
  const path = program(`cache/bin/${NAME}`, "echo v=7.0.15")
  expect(findTool(NAME, where)).toEqual({ path })
  program(`cache/bin/${NAME}`, "echo a library is missing >&2; exit 127")
  expect(findTool(NAME, where)).toMatchObject({ reason: `${path} does not run: a library is missing` })
})

it("rejects a browser that prints its version but cannot start", () => {
  const words =
    "chromium: error while loading shared libraries: libpulsecommon-16.1.so: cannot open shared object file"
  const path = program(
    "broken-browser",
    `[ "$1" = --version ] && echo v=7.1 && exit; echo "${words}" >&2; exit 127`,
  )
  const browser = { ...table[NAME], commands: ["broken-browser"], check: whyChromiumFails }
  const found = findTool(NAME, { ...where, table: { [NAME]: browser } })
  expect(found).toMatchObject({ reason: expect.stringContaining("libpulsecommon-16.1.so: cannot open") })
  expect(found).toMatchObject({ reason: expect.stringContaining(`${path} cannot show a page`) })
}, 60_000)

it("throws for a tool that is not in the table", () => {
  expect(() => findTool("redis", where)).toThrow("has no tool redis")
})

it.each([
  ["7.0", "7.0", true],
  ["7.0.15", "7.0", true],
  ["10.0.0", "7.0", true],
  ["7", "7.0", true],
  ["6.99", "7.0", false],
  ["7.0.9", "7.0.10", false],
])("compares versions by number: %s against %s", (found, minVersion, enough) => {
  expect(isNewEnough(found, minVersion)).toBe(enough)
})
