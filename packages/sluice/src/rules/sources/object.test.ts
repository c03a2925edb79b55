import { describe, expect, it, vi } from "vitest"
import { ManualClock } from "../../testing/manual-clock.js"
import { objectRules } from "./object.js"
import { limitOf, listen, rule, setOf, setWith } from "./rule-sets.test-support.js"

const by = "alice"

describe("objectRules", () => {
  it("serves the given set as revision 1", () => {
    const clock = new ManualClock()
    const source = objectRules(setWith(5), { clock })
    expect(source.current).toMatchObject({ revision: 1, changedAt: clock.now(), changedBy: "initial" })
    expect(source.current.document).toEqual(setWith(5))
    expect(source.stale).toBe(false)
  })

  it("refuses a set with mistakes, with all of them, and keeps serving the last good one", async () => {
    const source = objectRules(setWith(5))
    const bad = { version: 1, rules: [{ id: "a", limits: [{ limit: 0, window: "1m" }] }, { id: "b" }] }
    const error = await source.save(bad, { by }).catch((reason) => reason)
    expect(error.code).toBe("RULES_INVALID")
    expect(error.problems.map(({ path }: { path: string }) => path)).toEqual([
      "rules[0].limits[0].limit",
      "rules[1].limits",
    ])
    expect(source.current.revision).toBe(1)
    expect(() => objectRules(bad)).toThrow("RULES_INVALID")
  })

  it("cannot be changed through an object that was given to it", async () => {
    const document = setWith(5)
    const source = objectRules(document)
    document.rules.pop()
    expect(limitOf(source.current)).toBe(5)
    const next = setWith(6)
    await source.save(next, { by })
    next.rules.pop()
    expect(limitOf(source.current)).toBe(6)
  })

  it("gives each save the next number, and keeps who, when and why", async () => {
    const clock = new ManualClock()
    const source = objectRules(setWith(5), { clock })
    clock.advance(1_000)
    const saved = await source.save(setWith(6), { by, comment: "more", expected: 1 })
    expect(saved).toBe(source.current)
    expect(saved).toMatchObject({ revision: 2, changedAt: clock.now(), changedBy: by, comment: "more" })
  })

  it("accepts an edit of the revision in force, by number or ETag, and no other", async () => {
    const source = objectRules(setWith(5))
    const { etag } = source.current
    await source.save(setWith(6), { by, expected: etag })
    await source.save(setWith(7), { by, expected: 2 })
    for (const expected of [1, 2, 4, etag, ""]) {
      await expect(source.save(setWith(8), { by: "bob", expected })).rejects.toMatchObject({
        code: "RULES_CONFLICT",
        found: expected,
      })
    }
    expect(source.current.revision).toBe(3)
  })

  it("makes no revision of a set that changes nothing", async () => {
    const source = objectRules(setWith(5))
    const heard = listen(source)
    expect(await source.save(setWith(5), { by })).toBe(source.current)
    expect(source.current.revision).toBe(1)
    expect(heard).toEqual([])
  })

  it("lists the newest first, with what each changed", async () => {
    const source = objectRules(setOf(rule("a")))
    await source.save(setOf(rule("a", 11), rule("b")), { by, comment: "why" })
    const nothing = { added: [], removed: [], changed: [], sections: [] }
    expect(await source.revisions()).toMatchObject([
      { revision: 2, changedBy: by, comment: "why", changes: { ...nothing, added: ["b"], changed: ["a"] } },
      { revision: 1, changedBy: "initial", changes: { added: ["a"] } },
    ])
    expect((await source.revisions())[0]).not.toHaveProperty("document")
  })

  it("rolls back by a new revision with the old content", async () => {
    const source = objectRules(setWith(5))
    const { etag } = source.current
    await source.save(setWith(6), { by })
    const back = await source.rollback(1, { by: "bob", expected: 2 })
    expect(back).toMatchObject({ revision: 3, changedBy: "bob", etag })
    expect(limitOf(source.current)).toBe(5)
  })

  it("keeps the given number of revisions, and reports when one is no longer kept", async () => {
    const source = objectRules(setWith(1), { history: 3 })
    for (let limit = 2; limit <= 5; limit++) await source.save(setWith(limit), { by })
    expect((await source.revisions()).map(({ revision }) => revision)).toEqual([5, 4, 3])
    expect(await source.revision(2)).toBeUndefined()
    expect(await source.revision(3)).toMatchObject({ document: setWith(3) })
    await expect(source.rollback(2, { by })).rejects.toMatchObject({ code: "RULES_REVISION_UNKNOWN" })
  })

  it.each([
    [{ by: "" }, "save.by"],
    [{}, "save.by"],
    [{ by, expected: 1.5 }, "save.expected"],
    [{ by, comment: 5 }, "save.comment"],
    [{ by, coment: "x" }, "save.coment"],
  ])("refuses the options %j", async (options, place) => {
    const source = objectRules(setWith(5))
    await expect(source.save(setWith(6), options as { by: string })).rejects.toMatchObject({ place })
  })

  it.each([
    [{ history: 0 }, "objectRules.history"],
    [{ onEvent: 1 }, "objectRules.onEvent"],
    [{ histroy: 1 }, "objectRules.histroy"],
  ])("refuses to start with %j", (options, place) => {
    expect(() => objectRules(setWith(5), options as object)).toThrow(place)
  })
})

describe("a listener", () => {
  it("is called for each revision once, in order, and not after it unsubscribes", async () => {
    const source = objectRules(setWith(1))
    const heard: number[] = []
    const leave = source.subscribe(({ revision }) => heard.push(revision))
    await source.save(setWith(2), { by })
    await source.save(setWith(3), { by })
    leave()
    await source.save(setWith(4), { by })
    expect(heard).toEqual([2, 3])
  })

  it("that throws causes a warning, and the other listeners are still called", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)
    const source = objectRules(setWith(1))
    source.subscribe(() => {
      throw new Error("mine")
    })
    const heard = listen(source)
    await expect(source.save(setWith(2), { by })).resolves.toMatchObject({ revision: 2 })
    expect(heard).toEqual([2])
    expect(warn).toHaveBeenCalledWith(expect.objectContaining({ message: "mine" }))
    warn.mockRestore()
  })

  it("that saves does not change the order for other listeners", async () => {
    const source = objectRules(setWith(1))
    source.subscribe(({ revision }) => {
      if (revision === 2) void source.save(setWith(3), { by })
    })
    const heard = listen(source)
    await source.save(setWith(2), { by })
    await vi.waitFor(() => expect(heard).toEqual([2, 3]))
  })

  it("that subscribes during a notification is called for later revisions only", async () => {
    const source = objectRules(setWith(1))
    const late: number[] = []
    source.subscribe(({ revision }) => {
      if (revision !== 2) return
      // In force before the late one comes, though nobody has been told of it yet.
      void source.save(setWith(3), { by })
      source.subscribe((next) => late.push(next.revision))
    })
    await source.save(setWith(2), { by })
    await source.save(setWith(4), { by })
    expect(late).toEqual([4])
  })
})
