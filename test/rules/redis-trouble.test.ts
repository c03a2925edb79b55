// What happens to rules in Redis when it is away, frozen, flushed, or holds something else.

import { Redis } from "ioredis"
import { describe, expect, it } from "vitest"
import { expectNoUnhandledRejections } from "../chaos/rejections.js"
import { LIBRARIES } from "../redis/clients.js"
import { eventually } from "../support/eventually.js"
import { FaultProxy } from "../support/fault-proxy.js"
import { CURRENT, quietClient, useStage, watched } from "./redis-rules.js"
import { limitOf, setWith } from "./rule-sets.js"

expectNoUnhandledRejections()
const stage = useStage()
const by = "alice"
const initial = setWith(5)

describe.each(LIBRARIES)("redisRules on %s", (library) => {
  it("reports that Redis is away when a save cannot reach it, and follows again when it is back", async () => {
    const proxy = stage.later(await FaultProxy.start(stage.server))
    const { source, kinds } = await stage.open({ initial, poll: "50ms", deadline: "1s" }, library, proxy)
    const other = await stage.open({}, library)
    await proxy.refuse()
    await eventually(() => source.stale, { what: "it notices" })
    await expect(source.save(setWith(6), { by })).rejects.toMatchObject({ code: "RULES_UNAVAILABLE" })
    await expect(source.revisions()).rejects.toMatchObject({ code: "RULES_UNAVAILABLE" })
    expect(limitOf(source.current)).toBe(5)
    await other.source.save(setWith(7), { by })
    await proxy.pass()
    await eventually(() => limitOf(source.current) === 7 && !source.stale, { within: 10_000 })
    expect(kinds()).toEqual(["unavailable", "recovered"])
  })

  it("answers a save within its deadline when Redis is frozen", async () => {
    const { source } = await stage.open({ initial, deadline: "1s" }, library)
    await stage.server.pause()
    try {
      const askedAt = performance.now()
      await expect(source.save(setWith(6), { by })).rejects.toMatchObject({ code: "RULES_UNAVAILABLE" })
      expect(performance.now() - askedAt).toBeLessThan(5_000)
    } finally {
      stage.server.resume()
    }
  })

  it("writes back what Redis has lost, and the next save has the next number", async () => {
    const { source, kinds, heard } = await stage.open({ initial, poll: "50ms" }, library)
    await source.save(setWith(6), { by })
    await stage.server.cli("FLUSHALL")
    await eventually(() => kinds().includes("restored"), { what: "it is written back" })
    expect(kinds()).toEqual(["lost", "restored"])
    expect(limitOf(source.current)).toBe(6)
    expect(await source.save(setWith(7), { by, expected: 2 })).toMatchObject({ revision: 3 })
    expect(heard).toEqual([2, 3])
  })

  it("keeps the newest set of a fleet when a new instance seeds a Redis that has lost it", async () => {
    const old = await stage.open({ initial, poll: "50ms" }, library)
    for (let limit = 6; limit < 10; limit++) await old.source.save(setWith(limit), { by })
    await stage.server.cli("FLUSHALL")
    const fresh = await stage.open({ initial, poll: "50ms" }, library)
    await eventually(() => fresh.source.current.revision === 5, { what: "the new one follows" })
    expect(limitOf(fresh.source.current)).toBe(9)
    expect(limitOf(old.source.current)).toBe(9)
  })

  it("restores what it serves after a server restart that lost everything", async () => {
    const { source, kinds } = await stage.open({ initial, poll: "50ms", deadline: "200ms" }, library)
    await source.save(setWith(6), { by })
    await stage.server.restart()
    const back = () => kinds().includes("restored") && !source.stale
    await eventually(back, { within: 10_000, what: "it is restored" })
    expect(limitOf(source.current)).toBe(6)
    expect(await source.save(setWith(7), { by })).toMatchObject({ revision: 3 })
  })

  it("refuses content that somebody wrote by hand, once, and a save replaces it", async () => {
    const { source, kinds, events } = await stage.open({ initial, poll: "10ms" }, library)
    const bad = { ...source.current, revision: 7, document: { version: 1, rules: [{ id: "a" }] } }
    await stage.server.cli("HSET", CURRENT, "revision", "7", "set", JSON.stringify(bad))
    await eventually(() => source.stale, { what: "it is refused" })
    expect(events[0]).toMatchObject({ kind: "refused", error: { code: "RULES_INVALID" } })
    expect(limitOf(source.current)).toBe(5)
    expect(await source.save(setWith(6), { by, expected: 1 })).toMatchObject({ revision: 2 })
    expect(kinds()).toEqual(["refused", "recovered"])
  })

  it.each([
    ["text", ["SET", CURRENT, "x"]],
    ["a hash that lacks the set", ["HSET", CURRENT, "revision", "9"]],
    ["a set that is no JSON", ["HSET", CURRENT, "revision", "9", "etag", "x", "set", "{"]],
  ])("refuses %s in the place of the rules, and a save replaces it", async (_, command) => {
    const { source } = await stage.open({ initial, poll: "10ms" }, library)
    await stage.putInPlace(command)
    await eventually(() => source.stale, { what: "it is refused" })
    expect(await source.save(setWith(6), { by })).toMatchObject({ revision: 2 })
    expect(await stage.server.cli("HGET", CURRENT, "revision")).toBe("2")
  })

  it("treats a hash with other fields as lost rules, and writes its own set there", async () => {
    const { kinds } = await stage.open({ initial, poll: "10ms" }, library)
    await stage.putInPlace(["HSET", CURRENT, "name", "x"])
    await eventually(() => kinds().includes("restored"))
    expect(await stage.server.cli("HGET", CURRENT, "revision")).toBe("1")
  })

  it("gives another set in Redis a new revision if its number is already taken", async () => {
    const { source, heard } = await stage.open({ initial, poll: "10ms" }, library)
    const other = { ...source.current, etag: "other", document: setWith(9) }
    await stage.server.cli("HSET", CURRENT, "etag", "other", "set", JSON.stringify(other))
    await eventually(() => limitOf(source.current) === 9)
    expect(source.current.revision).toBe(2)
    expect(heard).toEqual([2])
  })
})

describe("a user without a right to the channel", () => {
  it("can save, and the others find the change by polling", async () => {
    await stage.server.cli("ACL", "SETUSER", "limited", "on", ">pw", "~s1:*", "resetchannels", "+@all")
    const client = stage.later(quietClient(stage.server.port, { username: "limited", password: "pw" }))
    const limited = await watched(stage.later, client, { initial })
    const other = await stage.open({ poll: "50ms" })
    await limited.source.save(setWith(6), { by })
    await eventually(() => limitOf(other.source.current) === 6)
  })
})

describe("a connection for announcements that has gone silent", () => {
  it("delays a change by less than 5 seconds, without a setting", { timeout: 30_000 }, async () => {
    const proxy = stage.later(await FaultProxy.start(stage.server))
    const client = stage.later(quietClient(stage.server.port))
    // Only the connection for announcements goes through the proxy.
    client.duplicate = ((options: object) =>
      new Redis({ ...options, host: proxy.host, port: proxy.port })) as Redis["duplicate"]
    const { source } = await watched(stage.later, client, { initial })
    const saver = await stage.open()
    await eventually(async () => (await stage.subscribers()) === 2, { what: "both subscribe" })
    proxy.halfOpen()
    await saver.source.save(setWith(6), { by })
    await eventually(() => limitOf(source.current) === 6, { within: 5_000 })
  })
})
