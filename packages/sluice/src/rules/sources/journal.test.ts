import { appendFileSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, it } from "vitest"
import { Journal } from "./journal.js"
import { setWith } from "./rule-sets.test-support.js"
import type { RuleSetRevision } from "./source.js"

let folder: string
let file: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-journal-"))
  file = join(folder, "history.jsonl")
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function open(maxRevisions: number): Journal {
  const journal = new Journal(file, maxRevisions)
  journal.refresh()
  return journal
}

function revision(number: number, comment = ""): RuleSetRevision {
  const etag = `etag ${number}`
  return { revision: number, document: setWith(number), etag, changedAt: 0, changedBy: "alice", comment }
}

/** Adds revisions as one process does, under the lock. */
function save(journal: Journal, first: number, last: number, comment?: string): void {
  for (let number = first; number <= last; number++) {
    journal.refresh()
    journal.addWith(revision(number, comment), () => {})
  }
}

const numbers = (journal: Journal) => journal.revisions.map((kept) => kept.revision)
const upTo = (last: number, count: number) => Array.from({ length: count }, (_, i) => last - count + 1 + i)
const size = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? 0

describe("Journal", () => {
  it("keeps the newest revisions, in memory and after a restart, at whatever point it rotates", () => {
    const journal = open(5)
    for (let last = 1; last <= 23; last++) {
      save(journal, last, last)
      const kept = upTo(last, Math.min(5, last))
      expect(numbers(journal)).toEqual(kept)
      expect(numbers(open(5))).toEqual(kept)
    }
  })

  it("appends one revision for each save and rewrites nothing", () => {
    const journal = open(5)
    const comment = "x".repeat(10_000)
    for (let number = 1; number <= 50; number++) {
      const before = [size(file), size(`${file}.1`)]
      save(journal, number, number, comment)
      const isRotated = size(file) < (before[0] as number)
      if (isRotated) expect(size(`${file}.1`)).toBe(before[0])
      expect(size(file) - (isRotated ? 0 : (before[0] as number))).toBeLessThan(11_000)
    }
    expect(size(file) + size(`${file}.1`)).toBeLessThan(2 * 5 * 11_000)
  })

  it("stays within 64 MiB and keeps the newest two, however large the sets are", () => {
    const journal = open(100)
    const comment = "x".repeat(9 * 1024 * 1024)
    save(journal, 1, 9, comment)
    expect(size(file) + size(`${file}.1`)).toBeLessThan(82 * 1024 * 1024)
    save(journal, 10, 12, "x".repeat(40 * 1024 * 1024))
    expect(numbers(journal).slice(-2)).toEqual([11, 12])
    expect(numbers(open(100))).toEqual(numbers(journal))
  })

  it("follows another process that appends, also across rotations", () => {
    const [writer, reader] = [open(4), open(4)]
    let last = 0
    for (const count of [1, 2, 3, 4, 5, 1, 9, 2, 13]) {
      save(writer, last + 1, last + count)
      last += count
      reader.refresh()
      expect(numbers(reader)).toEqual(numbers(writer))
    }
    save(reader, last + 1, last + 1)
    writer.refresh()
    expect(numbers(writer)).toEqual(upTo(last + 1, 4))
  })

  it("skips incomplete lines, wherever crashes left them", () => {
    for (let last = 1; last <= 12; last++) {
      save(open(5), last, last)
      appendFileSync(file, `{"revision":${last + 1},"docum`)
    }
    expect(numbers(open(5))).toEqual(upTo(12, 5))
  })

  it("decides by the rule file whether a save that failed half-way is undone or done", () => {
    const journal = open(5)
    save(journal, 1, 1)
    const fail = () => {
      throw new Error("disk full")
    }
    expect(() => journal.addWith(revision(2), fail)).toThrow("disk full")
    expect(numbers(journal)).toEqual([1])
    const [atOnce, later] = [journal, open(5)]
    for (const each of [atOnce, later]) {
      each.refresh()
      each.resolvePending("etag 1")
      expect(numbers(each)).toEqual([1])
    }
    expect(() => journal.addWith(revision(2), fail)).toThrow("disk full")
    journal.resolvePending("etag 2")
    expect([numbers(journal), numbers(open(5))]).toEqual([
      [1, 2],
      [1, 2],
    ])
  })

  it("starts again when its files are removed", () => {
    const journal = open(2)
    save(journal, 1, 5)
    rmSync(file)
    rmSync(`${file}.1`)
    save(journal, 6, 7)
    expect([numbers(journal), numbers(open(2))]).toEqual([
      [6, 7],
      [6, 7],
    ])
  })
})
