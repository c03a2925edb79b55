import { describe, expect, it } from "vitest"
import { expectNoUnhandledRejections } from "../chaos/rejections.js"
import { LIBRARIES } from "../redis/clients.js"
import { eventually } from "../support/eventually.js"
import { HISTORY, useStage } from "./redis-rules.js"
import { limitOf, rule, setOf, setWith } from "./rule-sets.js"

expectNoUnhandledRejections()
const stage = useStage()
const by = "alice"
const initial = setWith(5)

describe.each(LIBRARIES)("redisRules on %s", (library) => {
  it("seeds an empty Redis, and only one of a fleet that starts together does", async () => {
    const fleet = await Promise.all(
      Array.from({ length: 8 }, (_, i) => stage.open({ initial: setWith(100 + i) }, library)),
    )
    const limits = new Set(fleet.map(({ source }) => limitOf(source.current)))
    expect(limits.size).toBe(1)
    expect(fleet.every(({ source }) => source.current.revision === 1)).toBe(true)
    expect(await stage.server.cli("LLEN", HISTORY)).toBe(1)
  })

  it("lets all instances follow a save within a second, and notifies each once and in order", {
    retry: 2,
  }, async () => {
    const fleet = await Promise.all(
      Array.from({ length: 5 }, () => stage.open({ initial, poll: "1h" }, library)),
    )
    // Each instance receives the announcement: without polling, nothing else would notify it.
    await eventually(async () => (await stage.subscribers()) === 5, { what: "all subscribe" })
    for (let limit = 6; limit < 16; limit++) {
      const saved = await fleet[limit % 5]?.source.save(setWith(limit), { by, expected: limit - 5 })
      expect(saved).toMatchObject({ revision: limit - 4, changedBy: by })
    }
    const follows = () => fleet.every(({ source }) => source.current.revision === 11)
    await eventually(follows, { within: 1_000, what: "all follow" })
    for (const { heard } of fleet) {
      expect(heard).toEqual([...new Set(heard)].sort((a, b) => a - b))
      expect(heard.at(-1)).toBe(11)
    }
  })

  it("lets one of many saves at once win, the others get a conflict and the newest set", async () => {
    const fleet = await Promise.all(Array.from({ length: 4 }, () => stage.open({ initial }, library)))
    const saves = Array.from({ length: 40 }, (_, i) =>
      fleet[i % 4]?.source.save(setWith(100 + i), { by: `user ${i}`, expected: 1 }),
    )
    const outcomes = await Promise.allSettled(saves)
    const won = outcomes.flatMap((outcome) => (outcome.status === "fulfilled" ? [outcome.value] : []))
    expect(won).toHaveLength(1)
    for (const outcome of outcomes)
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "RULES_CONFLICT" })
    await eventually(() => fleet.every(({ source }) => source.current.etag === won[0]?.etag))
    expect(await stage.server.cli("LLEN", HISTORY)).toBe(2)
  })

  it("loses none of the saves that expect nothing", async () => {
    const fleet = await Promise.all(Array.from({ length: 4 }, () => stage.open({ initial }, library)))
    const saves = Array.from({ length: 40 }, (_, i) => fleet[i % 4]?.source.save(setWith(100 + i), { by }))
    const numbers = (await Promise.all(saves)).map((saved) => saved?.revision ?? 0)
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, i) => i + 2))
  })

  it("lists, finds and rolls back revisions, from any instance", async () => {
    const [one, two] = [
      await stage.open({ initial: setOf(rule("a")) }, library),
      await stage.open({}, library),
    ]
    await one.source.save(setOf(rule("a", 11), rule("b")), { by, comment: "why" })
    expect(await two.source.revisions()).toMatchObject([
      { revision: 2, changedBy: by, comment: "why", changes: { added: ["b"], changed: ["a"] } },
      { revision: 1, changedBy: "initial", changes: { added: ["a"] } },
    ])
    expect(await two.source.revision(1)).toMatchObject({ document: setOf(rule("a")) })
    expect(await two.source.revision(3)).toBeUndefined()
    const back = await two.source.rollback(1, { by: "bob" })
    expect(back).toMatchObject({ revision: 3, changedBy: "bob", document: setOf(rule("a")) })
    await expect(two.source.rollback(9, { by })).rejects.toMatchObject({ code: "RULES_REVISION_UNKNOWN" })
    await eventually(() => one.source.current.revision === 3)
  })

  it("follows by polling when announcements stop", async () => {
    const saver = await stage.open({ initial }, library)
    const { source, heard } = await stage.open({ poll: "100ms" }, library)
    await eventually(async () => (await stage.subscribers()) === 2, { what: "both subscribe" })
    // The user may neither subscribe nor publish any more. Redis closes its connections.
    await stage.server.cli("ACL", "SETUSER", "default", "resetchannels")
    try {
      await eventually(async () => (await stage.subscribers()) === 0, { what: "nobody listens" })
      await saver.source.save(setWith(6), { by })
      await eventually(() => limitOf(source.current) === 6, { within: 5_000 })
      expect(heard).toEqual([2])
    } finally {
      await stage.server.cli("ACL", "SETUSER", "default", "allchannels")
    }
  })

  it("polls at once on reload", async () => {
    const saver = await stage.open({ initial }, library)
    const { source } = await stage.open({ poll: "1h" }, library)
    await eventually(async () => (await stage.subscribers()) === 2, { what: "both subscribe" })
    await stage.server.cli("ACL", "SETUSER", "default", "resetchannels")
    try {
      await eventually(async () => (await stage.subscribers()) === 0, { what: "nobody listens" })
      await saver.source.save(setWith(6), { by })
      await source.reload?.()
      expect(limitOf(source.current)).toBe(6)
    } finally {
      await stage.server.cli("ACL", "SETUSER", "default", "allchannels")
    }
  })

  it("closes what it opened, and not the client", async () => {
    const client = await stage.open({ initial }, library)
    await eventually(async () => (await stage.subscribers()) === 1)
    await client.source.close()
    await client.source.close()
    await eventually(async () => (await stage.subscribers()) === 0, { what: "the subscription ends" })
    // Still usable: the client is not closed by the source.
    expect(await client.source.revisions()).toHaveLength(1)
  })

  it("can be closed while Redis is away", async () => {
    const { source } = await stage.open({ initial, poll: "10ms", deadline: "100ms" }, library)
    await stage.server.kill()
    await eventually(() => source.stale)
    await source.close()
  })

  it("sends the script's source after SCRIPT FLUSH", async () => {
    const { source } = await stage.open({ initial }, library)
    await stage.server.cli("SCRIPT", "FLUSH")
    expect(await source.save(setWith(6), { by })).toMatchObject({ revision: 2 })
  })
})

describe("rules of different names", () => {
  it("do not see each other, whatever is in the name", async () => {
    const one = await stage.open({ initial, name: "a" })
    const two = await stage.open({ initial: setWith(9), name: "}{a" })
    await one.source.save(setWith(6), { by })
    expect(limitOf(two.source.current)).toBe(9)
    expect(await two.source.revisions()).toHaveLength(1)
  })
})
