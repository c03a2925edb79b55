import { execFileSync } from "node:child_process"
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs"
import { hostname, tmpdir } from "node:os"
import { join } from "node:path"
import { threadId } from "node:worker_threads"
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import { type FileRulesOptions, fileRules } from "./file.js"
import { limitOf, listen, setWith } from "./rule-sets.test-support.js"
import type { EditableRuleSource, RuleSourceEvent } from "./source.js"

const by = "alice"
const text = (limit: number) => `# The shop.
version: 1
rules:
  - id: login # passwords
    limits:
      - limit: ${limit} # ticket 12
        window: 1m
`

let folder: string
let path: string
let journal: string
let opened: EditableRuleSource[]
let events: RuleSourceEvent[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-rules-"))
  path = join(folder, "rules.yaml")
  journal = join(folder, ".rules.yaml.revisions.jsonl")
  writeFileSync(path, text(5))
  opened = []
  events = []
})

afterEach(async () => {
  for (const source of opened) await source.close()
  rmSync(folder, { recursive: true, force: true })
})

async function open(options: FileRulesOptions = {}, at = path): Promise<EditableRuleSource> {
  const source = await fileRules(at, { onEvent: (event) => events.push(event), ...options })
  opened.push(source)
  return source
}

async function reopen(options: FileRulesOptions = {}): Promise<EditableRuleSource> {
  await opened.pop()?.close()
  return await open(options)
}

/** Waits for what the file system tells a moment later. */
function soon(check: () => void): Promise<void> {
  return vi.waitFor(check, { timeout: 5_000, interval: 5 })
}

async function turnsOfTheLoop(turns: number): Promise<void> {
  for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
}

const kinds = () => events.map(({ kind }) => kind)

describe("fileRules", () => {
  it("serves the file as revision 1", async () => {
    const clock = new ManualClock()
    const source = await open({ clock })
    expect(source.current).toMatchObject({ revision: 1, changedBy: "file", changedAt: clock.now() })
    expect(source.current.document).toEqual(setWith(5))
  })

  it("refuses to start without a file, and from a bad one with every mistake and its line", async () => {
    await expect(open({}, join(folder, "none.yaml"))).rejects.toMatchObject({ code: "RULES_IO" })
    writeFileSync(path, text(0).replace("window", "windw"))
    const error = await open().catch((reason) => reason)
    expect(error).toMatchObject({ code: "RULES_INVALID", place: path })
    expect(new Set(error.problems.map(({ line }: { line: number }) => line))).toEqual(new Set([6, 7]))
    expect(readdirSync(folder)).toEqual(["rules.yaml"])
  })

  it.each([
    ["", "fileRules"],
    [5, "fileRules"],
  ])("refuses the path %j", async (bad, place) => {
    await expect(fileRules(bad as string)).rejects.toMatchObject({ code: "OPTION_TYPE", place })
  })

  it.each([
    [{ pol: "1s" }, "OPTION_UNKNOWN"],
    [{ poll: "soon" }, "DURATION_INVALID"],
    [{ history: 0 }, "OPTION_TYPE"],
    [{ historyFile: "" }, "OPTION_TYPE"],
  ])("refuses the options %j", async (options, code) => {
    await expect(open(options as FileRulesOptions)).rejects.toMatchObject({ code })
  })
})

describe("an edit by hand", () => {
  const edits: Record<string, (content: string) => void> = {
    "written in place": (content) => writeFileSync(path, content),
    "renamed over it, as editors do": (content) => {
      writeFileSync(`${path}~`, content)
      renameSync(`${path}~`, path)
    },
    "written anew after a backup, as editors do": (content) => {
      renameSync(path, `${path}.bak`)
      writeFileSync(path, content)
    },
  }

  it.each(Object.entries(edits))("%s becomes a revision", async (_, edit) => {
    // Without polling in time: it is the system that tells.
    const source = await open({ poll: "1h" })
    const heard = listen(source)
    edit(text(6))
    await soon(() => expect(source.current).toMatchObject({ revision: 2, changedBy: "file" }))
    expect(limitOf(source.current)).toBe(6)
    expect(heard).toEqual([2])
    expect((await source.revisions()).map(({ changedBy }) => changedBy)).toEqual(["file", "file"])
  })

  it("is followed when a Kubernetes volume swaps its link", async () => {
    const volume = join(folder, "volume")
    const publish = (version: string, limit: number) => {
      mkdirSync(join(volume, version), { recursive: true })
      writeFileSync(join(volume, version, "rules.yaml"), text(limit))
      symlinkSync(version, join(volume, "..data_tmp"))
      renameSync(join(volume, "..data_tmp"), join(volume, "..data"))
    }
    publish("..1", 5)
    symlinkSync(join("..data", "rules.yaml"), join(volume, "rules.yaml"))
    const source = await open({ poll: "1h" }, join(volume, "rules.yaml"))
    publish("..2", 6)
    await soon(() => expect(limitOf(source.current)).toBe(6))
  })

  it("is found by polling if the system sends no events", async () => {
    const elsewhere = join(folder, "elsewhere")
    mkdirSync(elsewhere)
    writeFileSync(join(elsewhere, "real.yaml"), text(5))
    const link = join(folder, "link.yaml")
    symlinkSync(join(elsewhere, "real.yaml"), link)
    const source = await open({ poll: "20ms" }, link)
    writeFileSync(join(elsewhere, "real.yaml"), text(6))
    await soon(() => expect(limitOf(source.current)).toBe(6))
  })

  it("of the same length, in the same moment as the one before, is not overlooked", async () => {
    const source = await open({ poll: "1ms" })
    const now = Date.now() / 1_000
    for (let limit = 6; limit < 10; limit++) {
      writeFileSync(path, text(limit))
      utimesSync(path, now, now)
    }
    await soon(() => expect(limitOf(source.current)).toBe(9))
    expect(await source.save(setWith(5), { by })).toMatchObject({ document: setWith(5) })
  })

  it("with mistakes is refused with all of them, once, while the last good set serves", async () => {
    const source = await open({ poll: "5ms" })
    const heard = listen(source)
    writeFileSync(path, text(0).replace("window", "windw"))
    await soon(() => expect(source.stale).toBe(true))
    expect(limitOf(source.current)).toBe(5)
    // The good file comes back: by then the bad one was looked at again and again.
    writeFileSync(path, text(7))
    await soon(() => expect(limitOf(source.current)).toBe(7))
    expect(kinds()).toEqual(["refused", "recovered"])
    expect(events[0]).toMatchObject({ error: { code: "RULES_INVALID", place: path } })
    expect(source.stale).toBe(false)
    expect(heard).toEqual([2])
  })

  it("that is undone creates no revision", async () => {
    const source = await open({ poll: "5ms" })
    writeFileSync(path, "rules: [")
    await soon(() => expect(source.stale).toBe(true))
    writeFileSync(path, text(5))
    await soon(() => expect(source.stale).toBe(false))
    expect(source.current.revision).toBe(1)
  })

  it("of a comment only changes no rules, and is not lost in the next save", async () => {
    const source = await open({ poll: "5ms" })
    writeFileSync(path, text(5).replace("The shop", "The best shop"))
    await source.save(setWith(6), { by, expected: 1 })
    expect(readFileSync(path, "utf8")).toBe(text(6).replace("The shop", "The best shop"))
    expect(source.current.revision).toBe(2)
  })

  it("that removes the file keeps the last valid set in force until the file is back", async () => {
    const source = await open({ poll: "5ms" })
    rmSync(path)
    await soon(() => expect(source.stale).toBe(true))
    expect(limitOf(source.current)).toBe(5)
    writeFileSync(path, text(6))
    await soon(() => expect(limitOf(source.current)).toBe(6))
    expect(kinds()).toEqual(["unavailable", "recovered"])
  })

  it("is only applied when it is completely written", async () => {
    const source = await open({ poll: "1ms" })
    // Each part is a valid set of its own. A writer that this machine holds up for too long has to begin again.
    for (let attempt = 1; ; attempt++) {
      const heard: unknown[] = []
      const stop = source.subscribe(({ document }) => heard.push(document))
      let longestPause = 0
      let touched = performance.now()
      writeFileSync(path, text(6 + attempt))
      for (let i = 0; i < 5; i++) {
        await turnsOfTheLoop(20)
        const next = performance.now()
        appendFileSync(path, `  - id: more-${i}\n    limits: unlimited\n`)
        longestPause = Math.max(longestPause, performance.now() - touched)
        touched = next
      }
      await soon(() => {
        const { rules } = source.current.document
        expect(rules).toHaveLength(6)
        expect(rules[0]?.limits).toMatchObject([{ limit: 6 + attempt }])
      })
      stop()
      // A file is left alone for 50 ms, by times that the file system counts in steps of up to 10.
      if (longestPause > 35 && attempt < 20) continue
      expect(heard).toHaveLength(1)
      return
    }
  })

  it("becomes a process warning when it is invalid and has no listener", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
    opened.push(await fileRules(path, { poll: "5ms" }))
    writeFileSync(path, text(0))
    await soon(() => expect(warn).toHaveBeenCalledWith(expect.objectContaining({ code: "RULES_INVALID" })))
    warn.mockRestore()
  })

  it("made while the source was closed is a revision after the ones before", async () => {
    const source = await open()
    await source.save(setWith(6), { by })
    await opened.pop()?.close()
    writeFileSync(path, text(7))
    expect((await open()).current).toMatchObject({ revision: 3, changedBy: "file" })
  })
})

describe("save", () => {
  it("changes the one number and leaves the rest of the file as it was", async () => {
    const source = await open()
    const saved = await source.save(setWith(6), { by, comment: "more", expected: source.current.etag })
    expect(saved).toMatchObject({ revision: 2, changedBy: by, comment: "more" })
    expect(readFileSync(path, "utf8")).toBe(text(6))
  })

  it("is not taken for an edit by hand", async () => {
    const source = await open({ poll: "1ms" })
    const heard = listen(source)
    for (let limit = 10; limit < 20; limit++) await source.save(setWith(limit), { by })
    const other = await open()
    await source.save(setWith(20), { by })
    await soon(() => expect(other.current.revision).toBe(source.current.revision))
    expect(heard).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12])
    expect((await source.revisions()).filter(({ changedBy }) => changedBy === "file")).toHaveLength(1)
  })

  it("keeps a JSON file JSON", async () => {
    const json = join(folder, "rules.json")
    writeFileSync(json, `${JSON.stringify(setWith(5), undefined, 4)}\n`)
    await (await open({}, json)).save(setWith(6), { by })
    expect(readFileSync(json, "utf8")).toBe(`${JSON.stringify(setWith(6), undefined, 4)}\n`)
  })

  it("applies an edit by hand first, and refuses a save that expects the set before it", async () => {
    const source = await open({ poll: "1h" })
    writeFileSync(path, text(6))
    await expect(source.save(setWith(7), { by, expected: 1 })).rejects.toMatchObject({
      code: "RULES_CONFLICT",
    })
    expect(limitOf(source.current)).toBe(6)
    expect(readFileSync(path, "utf8")).toBe(text(6))
  })

  it("lets one of many concurrent saves succeed, in one process and between two", async () => {
    const [one, two] = [await open(), await open()]
    const saves = Array.from({ length: 20 }, (_, i) =>
      (i % 2 === 0 ? one : two).save(setWith(100 + i), { by: `user ${i}`, expected: 1 }),
    )
    const outcomes = await Promise.allSettled(saves)
    const won = outcomes.filter((outcome) => outcome.status === "fulfilled")
    expect(won).toHaveLength(1)
    for (const outcome of outcomes)
      if (outcome.status === "rejected") expect(outcome.reason.code).toBe("RULES_CONFLICT")
    await soon(() => expect(two.current).toMatchObject({ revision: 2, etag: one.current.etag }))
    expect(limitOf(won[0]?.value ?? one.current)).toBe(limitOf(one.current))
  })

  it("loses none of the saves of two sources that expect nothing", async () => {
    const [one, two] = [await open(), await open()]
    const saves = Array.from({ length: 20 }, (_, i) =>
      (i % 2 === 0 ? one : two).save(setWith(100 + i), { by: `user ${i}` }),
    )
    const numbers = (await Promise.all(saves)).map(({ revision }) => revision)
    expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, i) => i + 2))
    const source = await open()
    expect((await source.revisions()).map(({ revision }) => revision)).toHaveLength(21)
  })

  it("keeps the permissions of the file, and a link a link", async () => {
    chmodSync(path, 0o640)
    const link = join(folder, "link.yaml")
    symlinkSync("rules.yaml", link)
    await (await open({}, link)).save(setWith(6), { by })
    expect(readFileSync(path, "utf8")).toBe(text(6))
    expect(statSync(path).mode & 0o777).toBe(0o640)
  })

  it("replaces a bad edit by hand, and keeps it aside", async () => {
    const source = await open({ poll: "1h" })
    writeFileSync(path, "half an edit: [")
    await source.save(setWith(6), { by, expected: 1 })
    expect(readFileSync(path, "utf8")).toBe(text(6))
    expect(readFileSync(`${path}.refused`, "utf8")).toBe("half an edit: [")
    expect(source.stale).toBe(false)
  })

  it("writes the file again when it is gone", async () => {
    const source = await open({ poll: "1h" })
    rmSync(path)
    await source.save(setWith(6), { by })
    expect(readFileSync(path, "utf8")).toBe(text(6))
  })

  it("refuses a set with mistakes and touches nothing", async () => {
    const source = await open()
    const before = readdirSync(folder)
    await expect(source.save({ version: 1, rules: [{}] }, { by })).rejects.toMatchObject({
      code: "RULES_INVALID",
    })
    expect(readFileSync(path, "utf8")).toBe(text(5))
    expect(readdirSync(folder)).toEqual(before)
  })

  it("leaves nothing in the folder but the file and its history", async () => {
    const source = await open()
    await source.save(setWith(6), { by })
    expect(readdirSync(folder).sort()).toEqual([".rules.yaml.revisions.jsonl", "rules.yaml"])
  })

  it("that cannot write is rejected, and the file is still followed", async () => {
    // A folder where the history should be: also the superuser cannot write to it.
    const historyFile = join(folder, "history")
    mkdirSync(historyFile)
    const source = await open({ historyFile, poll: "5ms" })
    await expect(source.save(setWith(6), { by })).rejects.toMatchObject({ code: "RULES_IO" })
    expect(readFileSync(path, "utf8")).toBe(text(5))
    writeFileSync(path, text(7))
    await soon(() => expect(source.current).toMatchObject({ revision: 2 }))
    expect((await source.revisions()).map(({ revision }) => revision)).toEqual([2, 1])
  })
})

describe("the history", () => {
  it("survives a restart, with who, when, why and what", async () => {
    const clock = new ManualClock()
    const source = await open({ clock })
    clock.advance(1_000)
    await source.save(setWith(6), { by, comment: "more" })
    const before = await source.revisions()
    const again = await reopen({ clock })
    expect(await again.revisions()).toEqual(before)
    expect(again.current).toMatchObject({ revision: 2, changedBy: by, comment: "more" })
    expect(before[0]?.changes.changed).toEqual(["login"])
    expect(await again.revision(1)).toMatchObject({ document: setWith(5) })
  })

  it("rolls back with a new revision, also to one from before a restart", async () => {
    await (await open()).save(setWith(6), { by })
    const source = await reopen()
    expect(await source.rollback(1, { by: "bob" })).toMatchObject({ revision: 3, changedBy: "bob" })
    expect(readFileSync(path, "utf8")).toBe(text(5))
    await expect(source.rollback(9, { by })).rejects.toMatchObject({ code: "RULES_REVISION_UNKNOWN" })
  })

  it("is limited in length, and its numbers continue", async () => {
    const source = await open({ history: 3 })
    for (let limit = 6; limit < 26; limit++) await source.save(setWith(limit), { by })
    const numbers = async (rules: EditableRuleSource) =>
      (await rules.revisions()).map(({ revision }) => revision)
    expect(await numbers(source)).toEqual([21, 20, 19])
    for (const file of [journal, `${journal}.1`])
      expect(readFileSync(file, "utf8").match(/"revision"/g)?.length).toBeLessThanOrEqual(3)
    expect(await numbers(await reopen({ history: 3 }))).toEqual([21, 20, 19])
  })

  it("skips half a line that a crash has left, and is whole again", async () => {
    await (await open()).save(setWith(6), { by })
    await opened.pop()?.close()
    appendFileSync(journal, '{"revision":3,"etag":"ab')
    const source = await open()
    expect(source.current.revision).toBe(2)
    await source.save(setWith(7), { by })
    expect((await (await reopen()).revisions()).map(({ revision }) => revision)).toEqual([3, 2, 1])
  })

  it("reads a longer history than it keeps, as earlier versions left it in one file", async () => {
    await (await open()).save(setWith(6), { by })
    await opened.pop()?.close()
    const line = JSON.parse(readFileSync(journal, "utf8").split("\n")[0] as string)
    const lines = Array.from({ length: 9 }, (_, i) => JSON.stringify({ ...line, revision: i + 1 }))
    writeFileSync(journal, `${lines.join("\n")}\n`)
    writeFileSync(path, text(5))
    const source = await open({ history: 3 })
    await source.save(setWith(7), { by })
    expect((await source.revisions()).map(({ revision }) => revision)).toEqual([10, 9, 8])
    expect((await (await reopen({ history: 3 })).revisions()).map(({ revision }) => revision)).toEqual([
      10, 9, 8,
    ])
  })

  it.each([
    ["happened if the file has its content", 6, 2, by],
    ["never happened if the file has not", 5, 1, "file"],
  ])("knows that a save that was cut off %s", async (_, limit, revision, changedBy) => {
    const source = await open()
    await source.save(setWith(6), { by })
    await opened.pop()?.close()
    const lines = readFileSync(journal, "utf8").trimEnd().split("\n")
    expect(lines.at(-1)).toBe('{"done":2}')
    writeFileSync(journal, `${lines.slice(0, -1).join("\n")}\n`)
    writeFileSync(path, text(limit))
    const again = await open()
    expect(again.current).toMatchObject({ revision, changedBy })
    expect(await again.revisions()).toHaveLength(revision)
  })

  it("is shown whole after another process has added to it", async () => {
    const [one, two] = [await open(), await open()]
    await one.save(setWith(6), { by })
    await two.save(setWith(7), { by: "bob" })
    expect((await two.revisions()).map(({ changedBy }) => changedBy)).toEqual(["bob", by, "file"])
  })

  it("that is lost starts again, and revisions still increase", async () => {
    const source = await open()
    await source.save(setWith(6), { by })
    rmSync(journal)
    expect(await source.save(setWith(7), { by })).toMatchObject({ revision: 3 })
  })
})

describe("a lock", () => {
  const lock = () => join(folder, ".rules.yaml.lock")

  it.each([
    [
      "by a process that died",
      () => `${execFileSync(process.execPath, ["-p", "process.pid"]).toString().trim()}.0`,
    ],
    ["by a process before this one with the same number", () => `${process.pid}.${threadId}`],
  ])("left %s is broken at once", async (_, owner) => {
    writeFileSync(lock(), `${owner()}@${hostname()}`)
    // Before this process began.
    utimesSync(lock(), 1, 1)
    const source = await open()
    await source.save(setWith(6), { by })
    expect(existsSync(lock())).toBe(false)
  })

  it.each([
    ["a process that lives", () => `${process.ppid}.0@${hostname()}`],
    ["another machine", () => "1.0@elsewhere"],
  ])("held by %s is waited for", async (_, owner) => {
    const source = await open()
    writeFileSync(lock(), owner())
    let isSaved = false
    const saving = source.save(setWith(6), { by }).then(() => {
      isSaved = true
    })
    // A save that does not wait is done within a few.
    await turnsOfTheLoop(500)
    expect(isSaved).toBe(false)
    rmSync(lock())
    await saving
  })

  it("that another machine has held for longer than any save takes is broken", async () => {
    const source = await open()
    writeFileSync(lock(), "1.0@elsewhere")
    const longAgo = Date.now() / 1_000 - 60
    utimesSync(lock(), longAgo, longAgo)
    expect(await source.save(setWith(6), { by })).toMatchObject({ revision: 2 })
  })
})

describe("close", () => {
  it("ends the watching: an edit after it is not followed", async () => {
    const source = await open({ poll: "1ms" })
    await source.close()
    await source.close()
    const heard = listen(source)
    const other = await open({ poll: "1ms" })
    writeFileSync(path, text(6))
    await soon(() => expect(limitOf(other.current)).toBe(6))
    expect(limitOf(source.current)).toBe(5)
    expect(heard).toEqual([])
  })
})
