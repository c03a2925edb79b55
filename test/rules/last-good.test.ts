import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { createClient } from "redis"
import { redisRules } from "sluice/rules"
import { describe, expect, it } from "vitest"
import { expectNoUnhandledRejections } from "../chaos/rejections.js"
import { eventually } from "../support/eventually.js"
import { FaultProxy } from "../support/fault-proxy.js"
import { CURRENT, quietClient, useStage, watched } from "./redis-rules.js"
import { limitOf, setWith } from "./rule-sets.js"

expectNoUnhandledRejections()
const stage = useStage()
const by = "alice"
const initial = setWith(5)

describe("lastGood", () => {
  const copy = () => join(stage.folder, "rules.json")

  it("lets an instance start while Redis is away, which reports it", async () => {
    const proxy = stage.later(await FaultProxy.start(stage.server))
    const first = await stage.open({ initial, lastGood: copy() })
    await first.source.save(setWith(6), { by })
    const client = stage.later(quietClient(proxy.port))
    await proxy.refuse()
    const options = { lastGood: copy(), poll: "50ms", deadline: "200ms" }
    const { source, kinds } = await watched(stage.later, client, options)
    expect(source.stale).toBe(true)
    expect(limitOf(source.current)).toBe(6)
    expect(kinds()).toEqual(["unavailable"])
    await first.source.save(setWith(7), { by })
    await proxy.pass()
    await eventually(() => limitOf(source.current) === 7, { within: 10_000, what: "it catches up" })
    expect(source.stale).toBe(false)
  })

  it("is written after every set that was accepted, for the owner only", async () => {
    const { source } = await stage.open({ initial, lastGood: copy() })
    expect(JSON.parse(readFileSync(copy(), "utf8"))).toMatchObject({ revision: 1 })
    await source.save(setWith(6), { by })
    expect(JSON.parse(readFileSync(copy(), "utf8"))).toMatchObject({ revision: 2, document: setWith(6) })
  })

  it("seeds a Redis that has lost everything, and takes precedence over initial", async () => {
    const first = await stage.open({ initial, lastGood: copy() })
    await first.source.save(setWith(6), { by })
    await first.source.close()
    await stage.server.cli("FLUSHALL")
    const { source } = await stage.open({ initial, lastGood: copy() })
    expect(source.current).toMatchObject({ revision: 2, changedBy: by })
  })

  it("from another fleet, with a larger number, does not replace what is in Redis", async () => {
    const proxy = stage.later(await FaultProxy.start(stage.server))
    const fleet = await stage.open({ initial, poll: "50ms" })
    const foreign = { ...fleet.source.current, revision: 12, document: setWith(99) }
    writeFileSync(copy(), JSON.stringify(foreign))
    const client = stage.later(quietClient(proxy.port))
    await proxy.refuse()
    const { source, heard } = await watched(stage.later, client, {
      lastGood: copy(),
      poll: "50ms",
      deadline: "200ms",
    })
    expect(limitOf(source.current)).toBe(99)
    await proxy.pass()
    await eventually(() => limitOf(source.current) === 5, { within: 10_000 })
    expect(heard).toEqual([13])
    await eventually(() => fleet.source.current.revision === 13)
    expect(limitOf(fleet.source.current)).toBe(5)
  })

  it("that is damaged is reported and not used", async () => {
    writeFileSync(copy(), "{")
    const { kinds, source } = await stage.open({ initial, lastGood: copy() })
    expect(kinds()).toEqual(["refused"])
    expect(source.current.revision).toBe(1)
  })

  it("that cannot be written is reported, and the rules are still followed", async () => {
    const { kinds, source } = await stage.open({ initial, lastGood: join(stage.folder, "none", "copy") })
    await source.save(setWith(6), { by })
    expect(kinds()).toEqual(["unavailable", "unavailable"])
    expect(existsSync(join(stage.folder, "none"))).toBe(false)
  })
})

describe("redisRules without rules", () => {
  it("report that Redis is away when there is no copy either", async () => {
    const proxy = stage.later(await FaultProxy.start(stage.server))
    await proxy.refuse()
    const nodeRedis = createClient({ url: proxy.url })
    const clients = [stage.later(quietClient(proxy.port)), nodeRedis]
    for (const client of clients) {
      await expect(redisRules(client, { initial, deadline: "200ms" })).rejects.toMatchObject({
        code: "RULES_UNAVAILABLE",
        cause: { kind: expect.stringMatching(/connection|timeout/) },
      })
    }
  })

  it("says that there are none when Redis is empty and nothing seeds it", async () => {
    await expect(stage.open()).rejects.toMatchObject({ code: "RULES_UNAVAILABLE", cause: undefined })
  })

  it("refuses to start from bad content when there is no copy", async () => {
    await stage.server.cli("HSET", CURRENT, "revision", "1", "etag", "x", "set", "{}")
    await expect(stage.open({ initial })).rejects.toMatchObject({ code: "RULES_INVALID" })
  })

  it.each([
    [{ initial: { version: 1 } }, "RULES_INVALID"],
    [{ name: "" }, "OPTION_TYPE"],
    [{ lastGood: 1 }, "OPTION_TYPE"],
    [{ poll: "x" }, "DURATION_INVALID"],
    [{ intial: 1 }, "OPTION_UNKNOWN"],
  ])("refuses the options %j", async (options, code) => {
    await expect(stage.open(options as object)).rejects.toMatchObject({ code })
  })

  it("refuses an invalid client, and names it", async () => {
    await expect(redisRules({})).rejects.toMatchObject({ code: "OPTION_TYPE", place: "redisRules" })
  })
})
