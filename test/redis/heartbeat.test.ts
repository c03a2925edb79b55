import { createLimiter } from "sluice"
import { redisStore } from "sluice/redis"
import { createRuleEngine } from "sluice/rules"
import { describe, expect, it } from "vitest"
import { blockPolicy } from "../../packages/sluice/src/algorithms/block.js"
import { RawRedisStore } from "../../packages/sluice/src/stores/redis/redis-store.js"
import { Namespace } from "../../packages/sluice/src/stores/store.js"
import { eventually } from "../support/eventually.js"
import { openSingle } from "./clients.js"
import { PATIENT } from "./contract.js"
import { Counter, chargeOf, times, useRedis } from "./one-server.js"

const redis = useRedis()
const EVERY = 60
const limit = { limit: 10, window: "1m" } as const

/** A store that has been used, so that its heartbeat runs. */
async function beating(every: number | string = EVERY): Promise<RawRedisStore> {
  const store = await redis.store({ heartbeat: every })
  await new Counter(store, limit).check(1)
  return store
}

async function forgetFleet(): Promise<void> {
  await redis.server.cli("DEL", "s1:{fleet}:instances", "s1:{fleet}:blocks")
}

describe("instances", () => {
  it("are counted by every one of them", async () => {
    await forgetFleet()
    const stores = await Promise.all(times(4, () => beating()))
    await eventually(() => stores.every((store) => store.instances === 4), { what: "all count four" })
  })

  it("that close no longer count once the others have missed them for a while", async () => {
    await forgetFleet()
    const stores = await Promise.all(times(3, () => beating()))
    await eventually(() => stores.every((store) => store.instances === 3), { what: "all count three" })
    await stores[0]?.close()
    expect(await redis.server.cli("ZCARD", "s1:{fleet}:instances")).toBe(2)
    const rest = stores.slice(1)
    await eventually(() => rest.every((store) => store.instances === 2), { what: "the others count two" })
  })

  it("that die no longer count after three heartbeats and a while", async () => {
    await forgetFleet()
    const survivor = await beating()
    const opened = await openSingle("ioredis", redis.server)
    const victim = redis.later(new RawRedisStore(opened.client, { deadline: "200ms", heartbeat: EVERY }))
    await new Counter(victim, limit).check(1)
    await eventually(() => survivor.instances === 2, { what: "the survivor counts two" })
    await opened.close()
    const died = performance.now()
    await eventually(() => survivor.instances === 1, { every: 2, what: "the survivor counts one" })
    expect(performance.now() - died).toBeGreaterThan(EVERY)
    // The dead instance keeps the number that it knew last.
    expect(victim.instances).toBe(2)
  })

  it("are one before the first heartbeat, and without a heartbeat", async () => {
    await forgetFleet()
    await beating()
    expect((await redis.store({ heartbeat: "1h" })).instances).toBe(1)
    const silent = await beating(0)
    expect(silent.instances).toBe(1)
    expect(await redis.server.cli("ZCARD", "s1:{fleet}:instances")).toBe(1)
  })

  it("are counted at any interval, also a fraction of a millisecond", async () => {
    await forgetFleet()
    const stores = await Promise.all([beating(33.3), beating("0.07s"), beating(50.5)])
    await eventually(() => stores.every((store) => store.instances === 3), { what: "all count three" })
  })

  it("leave no key behind when all have closed", async () => {
    await forgetFleet()
    const stores = await Promise.all(times(3, () => beating()))
    await Promise.all(stores.map((store) => store.close()))
    expect(await redis.server.cli("EXISTS", "s1:{fleet}:instances")).toBe(0)
  })
})

describe("prefixes", () => {
  const beats = async (prefix: string) => {
    const { client } = await redis.client()
    const store = redis.later(redisStore(client, { ...PATIENT, heartbeat: EVERY }))
    const limiter = createLimiter({ store, prefix, ...limit })
    await limiter.check("key")
    return { store, limiter }
  }

  it("fleets of different prefixes on one Redis do not count each other", async () => {
    await forgetFleet()
    const shop = await Promise.all(times(3, () => beats("shop")))
    const shopEu = await Promise.all(times(2, () => beats("shop:eu")))
    const plain = await Promise.all(times(4, () => beats("sluice")))
    const counts = () => [shop, shopEu, plain].map((fleet) => fleet.map(({ store }) => store.instances))
    const settled = [
      [3, 3, 3],
      [2, 2],
      [4, 4, 4, 4],
    ]
    await eventually(() => JSON.stringify(counts()) === JSON.stringify(settled), { what: "all are counted" })
    expect(await redis.server.cli("ZCARD", "s1:{fleet:shop}:instances")).toBe(3)
  })

  it("a block under one prefix makes no other fleet ask for blocks", async () => {
    await forgetFleet()
    const blocks = (prefix: string) => new Namespace(`${prefix}:block`, prefix)
    const [one, same, other] = [await beats("one"), await beats("one"), await beats("other")]
    await eventually(() => !same.store.mayBlock(blocks("one")) && !other.store.mayBlock(blocks("other")), {
      what: "nothing is blocked",
    })
    await one.limiter.block("bad", "1m")
    await eventually(() => same.store.mayBlock(blocks("one")), { what: "the same fleet knows" })
    expect(await same.limiter.check("bad")).toMatchObject({ allowed: false, deniedBy: "block" })
    expect(other.store.mayBlock(blocks("other"))).toBe(false)
  })

  it("an instance of two fleets divides its limits by the larger fleet", async () => {
    await forgetFleet()
    const both = await beats("large")
    await createLimiter({ store: both.store, prefix: "small", ...limit }).check("key")
    await Promise.all(times(2, () => beats("large")))
    await eventually(() => both.store.instances === 3, { what: "the larger is counted" })
  })

  it("the rules of an engine have their heartbeat under its prefix", async () => {
    const { client } = await redis.client()
    const store = redis.later(redisStore(client, { ...PATIENT, heartbeat: EVERY }))
    const engine = createRuleEngine({
      rules: { version: 1, rules: [{ id: "api", limits: [{ limit: 5, window: "1m" }] }] },
      store,
      prefix: "{odd} prefix",
    })
    await engine.check({ method: "GET", path: "/", ip: "192.0.2.1" })
    const name = "s1:{fleet:%7bodd%7d%20prefix}:instances"
    await eventually(async () => (await redis.server.cli("ZCARD", name)) === 1, { what: "it is counted" })
    await engine.close()
  })
})

describe("a block", () => {
  const namespace = new Namespace("heartbeat:block")

  it("is known to other instances within a heartbeat", async () => {
    await forgetFleet()
    const [one, other] = [await beating(), await beating()]
    await eventually(() => !other.mayBlock(namespace), { what: "nothing is blocked" })
    const counter = new Counter(one, limit)
    await one.charge([chargeOf(counter, blockPolicy, 60_000_000)])
    expect(one.mayBlock(namespace)).toBe(true)
    await eventually(() => other.mayBlock(namespace), {
      within: 30 * EVERY,
      every: 2,
      what: "the other knows",
    })
  })

  it("denies on other instances, and ends with unblock", async () => {
    await forgetFleet()
    const limiters = await Promise.all(
      times(2, async () => {
        const { client } = await redis.client()
        const store = redis.later(redisStore(client, { ...PATIENT, heartbeat: EVERY }))
        return createLimiter({ store, prefix: "blocked", ...limit })
      }),
    )
    const [one, other] = limiters as [(typeof limiters)[0], (typeof limiters)[0]]
    await other.check("bad")
    await one.block("bad", "1m")
    expect(await one.check("bad")).toMatchObject({ allowed: false, deniedBy: "block" })
    await eventually(async () => (await other.check("bad")).deniedBy === "block", { what: "it is denied" })
    expect(await other.check("good")).toMatchObject({ allowed: true })
    await one.unblock("bad")
    expect(await other.check("bad")).toMatchObject({ allowed: true })
  })

  it("is not missed by an instance that has just started", async () => {
    await forgetFleet()
    const counter = new Counter(await beating(), limit)
    await counter.store.charge([chargeOf(counter, blockPolicy, 60_000_000)])
    const late = await redis.store({ heartbeat: "1h" })
    expect(late.mayBlock(namespace)).toBe(true)
  })

  it("is not missed by an instance without a heartbeat", async () => {
    await forgetFleet()
    const silent = await beating(0)
    expect(silent.mayBlock(namespace)).toBe(true)
  })

  it("is forgotten by the fleet when its time is over", async () => {
    await forgetFleet()
    const store = await beating()
    const counter = new Counter(store, limit)
    await store.charge([chargeOf(counter, blockPolicy, 90_000)])
    expect(store.mayBlock(namespace)).toBe(true)
    await eventually(() => !store.mayBlock(namespace), { what: "nothing is blocked any more" })
  })

  it("that is short does not hide a longer one", async () => {
    await forgetFleet()
    const store = await beating()
    const counter = new Counter(store, limit)
    await store.charge([chargeOf(counter, blockPolicy, 60_000_000, "long")])
    await store.charge([chargeOf(counter, blockPolicy, 1_000, "short")])
    expect(await redis.server.cli("PTTL", "s1:{fleet}:blocks")).toBeGreaterThan(50_000)
  })
})
