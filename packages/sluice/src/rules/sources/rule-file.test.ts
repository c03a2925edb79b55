import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { RuleFile } from "./rule-file.js"

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-rule-file-"))
  path = join(folder, "rules.yaml")
  writeFileSync(path, "version: 1\n")
})

afterEach(() => {
  vi.restoreAllMocks()
  rmSync(folder, { recursive: true })
})

/** Whether the file counts as completely written at `ms` after its modification time. */
async function isSettledAt(ms: number): Promise<boolean> {
  const now = vi.spyOn(Date, "now").mockReturnValue(statSync(path).mtimeMs + ms)
  let isSettled = false
  const settled = new RuleFile(path).settled().then(() => {
    isSettled = true
  })
  await Promise.resolve()
  await Promise.resolve()
  const wasSettled = isSettled
  now.mockReturnValue(statSync(path).mtimeMs + 1_000)
  await settled
  return wasSettled
}

describe("a rule file", () => {
  it.each([
    ["just before, by a clock of whole milliseconds", -0.7, false],
    ["just now", 0, false],
    ["49 ms ago", 49, false],
    ["50 ms ago", 50, true],
    ["in an hour, by another machine's clock", -3_600_000, true],
  ])("that was modified %s counts as completely written: %f ms, %s", async (_, ms, expected) => {
    expect(await isSettledAt(ms)).toBe(expected)
  })
})
