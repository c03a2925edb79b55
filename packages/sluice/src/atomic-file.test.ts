import { execFileSync } from "node:child_process"
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { hostname, tmpdir } from "node:os"
import { basename, dirname, join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { draftOf, isDraft, replaceFile, sweepDrafts } from "./atomic-file.js"
import { LastGood } from "./rules/sources/redis-follower.js"
import { memoryStore } from "./stores/memory/memory-store.js"
import { fileSnapshot } from "./stores/memory/snapshot.js"

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-atomic-"))
  file = join(folder, "state")
})

afterEach(() => rmSync(folder, { recursive: true }))

/** A process that is no more. */
function deadPid(): string {
  return execFileSync(process.execPath, ["-p", "process.pid"]).toString().trim()
}

/** A draft as another process would have left it. */
function leftBy(pid: string | number, host = hostname(), secondsAgo = 0): string {
  const draft = draftOf(file).replace(`${process.pid}@${hostname()}`, `${pid}@${host}`)
  writeFileSync(draft, "half")
  const time = Date.now() / 1_000 - secondsAgo
  utimesSync(draft, time, time)
  return draft
}

describe("replaceFile", () => {
  it("writes a draft under a name that is another each time, and leaves none", () => {
    expect(draftOf(file)).not.toBe(draftOf(file))
    expect(isDraft(basename(draftOf(file)))).toBe(true)
    expect(dirname(draftOf(file))).toBe(folder)
    replaceFile(file, "one")
    replaceFile(file, "two")
    expect(readFileSync(file, "utf8")).toBe("two")
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readdirSync(folder)).toEqual(["state"])
  })

  it("leaves no draft when it fails", () => {
    expect(() => replaceFile(folder, "one")).toThrow()
    expect(readdirSync(dirname(folder)).filter((name) => name.startsWith(`.${basename(folder)}.`))).toEqual(
      [],
    )
  })
})

describe("sweepDrafts", () => {
  it("removes those of processes that are no more, and old ones", () => {
    const gone = [leftBy(deadPid()), leftBy(1, "elsewhere", 3_600), leftBy(process.pid, hostname(), 3_600)]
    sweepDrafts(file)
    expect(gone.filter((draft) => existsSync(draft))).toEqual([])
  })

  it("leaves those that may be written just now, and every other file", () => {
    const kept = [leftBy(process.ppid), leftBy(deadPid(), "elsewhere"), leftBy(process.pid)]
    writeFileSync(join(folder, ".state.notes"), "")
    writeFileSync(join(folder, ".other.1@elsewhere.0123456789abcdef.draft"), "")
    sweepDrafts(file)
    expect(kept.filter((draft) => existsSync(draft))).toEqual(kept)
    expect(readdirSync(folder)).toHaveLength(kept.length + 2)
    sweepDrafts(file, { isLocked: true })
    expect(readdirSync(folder).sort()).toEqual([".other.1@elsewhere.0123456789abcdef.draft", ".state.notes"])
  })

  it("happens when a store loads its snapshot and when an engine loads its copy of the rules", async () => {
    leftBy(deadPid())
    await memoryStore({ snapshot: fileSnapshot(file) }).close()
    expect(readdirSync(folder)).toEqual(["state"])
    leftBy(deadPid())
    new LastGood(file)
    expect(readdirSync(folder)).toEqual(["state"])
  })
})
