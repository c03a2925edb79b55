// A check without charges is answered without a call, in every topology, alone and together with other checks of its tick.

import type { Store } from "sluice"
import { redisStore, shardedStore } from "sluice/redis"
import { createRuleEngine } from "sluice/rules"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type RedisCluster, startCluster } from "../support/redis/cluster.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { LIBRARIES, type OpenClient, openCluster, openSingle } from "./clients.js"
import { PATIENT } from "./contract.js"
import { Counter } from "./one-server.js"

const AT = Date.UTC(2026, 0, 1) * 1000

let server: RedisServer
let cluster: RedisCluster
const opened: OpenClient[] = []

beforeAll(async () => {
  ;[server, cluster] = await Promise.all([startRedis(), startCluster()])
}, 60_000)
afterAll(async () => {
  await Promise.all(opened.map((client) => client.close()))
  await Promise.all([server.stop(), cluster.stop()])
})

const topologies = LIBRARIES.flatMap((library) => [
  { name: `a server through ${library}`, open: async () => redisStore(await single(library), PATIENT) },
  {
    name: `a ring through ${library}`,
    open: async () =>
      shardedStore([redisStore(await single(library), PATIENT), redisStore(await single(library), PATIENT)]),
  },
  {
    name: `a Cluster through ${library}`,
    open: async () => {
      const client = await openCluster(library, cluster)
      opened.push(client)
      return redisStore(client.client, PATIENT)
    },
  },
])

async function single(library: (typeof LIBRARIES)[number]): Promise<object> {
  const client = await openSingle(library, server)
  opened.push(client)
  return client.client
}

describe.each(topologies)("$name", ({ open }) => {
  let store: Store
  beforeAll(async () => {
    store = await open()
  })
  afterAll(() => store.close())

  it("allows a check without charges, at the given time", async () => {
    const nothing = { allowed: true, now: AT, verdicts: [], degraded: undefined }
    expect(await store.check([], AT)).toEqual(nothing)
    expect(await store.decide([], AT)).toEqual(nothing)
    expect(
      await store.checkMany([
        { charges: [], at: AT },
        { charges: [], at: AT },
      ]),
    ).toEqual([nothing, nothing])
    await Promise.all([store.charge([], AT), store.refund([], AT), store.reset([])])
  })

  it("without a time it answers at about now", async () => {
    const { now } = await store.check([])
    expect(Math.abs(now / 1000 - Date.now())).toBeLessThan(60_000)
  })

  it("answers between other checks of the same tick, which are counted", async () => {
    const counter = new Counter(store, { limit: 10, window: "1h" })
    const answers = await Promise.all([
      store.check([counter.charge()], AT),
      store.check([], AT),
      store.check([counter.charge()], AT),
      store.refund([], AT),
    ])
    expect(answers[2]).toMatchObject({ allowed: true, verdicts: [{ remaining: 8 }] })
    const many = await store.checkMany([
      { charges: [], at: AT },
      { charges: [counter.charge()], at: AT },
      { charges: [], at: AT },
    ])
    expect(many.map(({ verdicts }) => verdicts.map(({ remaining }) => remaining))).toEqual([[], [7], []])
  })

  it("a refund under a rule that is off, and a shadow without limits, are answered", async () => {
    const engine = createRuleEngine({
      store,
      rules: {
        version: 1,
        rules: [
          {
            id: "off",
            mode: "off",
            match: { path: "/off" },
            keyBy: ["ip"],
            limits: [{ limit: 5, window: "1m" }],
          },
          {
            id: "shadow",
            mode: "shadow",
            match: { path: "/shadow" },
            keyBy: ["ip"],
            limits: [{ limit: 5, window: "1m" }],
            candidate: { limits: [{ limit: 3, window: "1m" }] },
            tiers: { gold: "unlimited" },
          },
        ],
      },
    })
    await engine.refundKey("off", "ip:192.0.2.1")
    await engine.resetKey("off", "ip:192.0.2.1")
    const request = { method: "GET", path: "/shadow", ip: "192.0.2.1", tier: "gold" }
    const decisions = await Promise.all([engine.check(request), engine.check(request)])
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, true])
    await engine.close()
  })
})
