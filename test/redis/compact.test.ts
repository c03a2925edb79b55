// The compact form of a call (scripts/compact.lua) and the general form (scripts/main.lua) decide alike, and as memory does.

import { Redis } from "ioredis"
import { memoryStore } from "sluice"
import { redisStore } from "sluice/redis"
import { afterAll, beforeAll, expect, it } from "vitest"
import { blockPolicy } from "../../packages/sluice/src/algorithms/block.js"
import { compilePolicy } from "../../packages/sluice/src/policy.js"
import { type Check, Namespace, type Outcome } from "../../packages/sluice/src/stores/store.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"

const STEPS = 8_000
const BUCKETS = [{ algorithm: "token-bucket" }, { algorithm: "leaky-bucket" }, { algorithm: "gcra" }] as const
const WINDOWS = [
  { algorithm: "fixed-window" },
  { algorithm: "fixed-window", anchor: "first-request" },
  { algorithm: "sliding-window-counter" },
] as const
const ALGORITHMS = [...BUCKETS, ...WINDOWS]
const WINDOWS_MS = [1, 7, 100, 1_000, 60_000]
const KEYS = ["a", "b", "c", "d"]
/** No test waits for a key to expire. */
const OPTIONS = { deadline: "10s", expiryBuffer: "5m", heartbeat: 0 } as const

let server: RedisServer
let client: Redis

beforeAll(async () => {
  server = await startRedis()
  client = new Redis(server.port, server.host)
})

afterAll(async () => {
  client.disconnect()
  await server.stop()
})

/** Whole numbers from a seed, so that a failure can be run again. */
function numbers(seed: number): (low: number, high: number) => number {
  let state = seed
  return (low, high) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return low + Math.floor((state / 2 ** 32) * (high - low + 1))
  }
}

/** The fields of the first charge of each outcome that a caller sees. */
function fields(outcomes: readonly Outcome[]) {
  return outcomes.map(({ allowed, degraded, verdicts: [verdict] }) => {
    const { remaining, retryAfter, resetAfter, delay } = verdict ?? {}
    return { allowed, degraded, remaining, retryAfter, resetAfter, delay }
  })
}

/** The same check with a look at a block that is not set: two charges, so that the call has the general form. */
function general({ charges, at }: Check, namespace: Namespace): Check {
  const [charge] = charges
  if (charge === undefined) throw new Error("a check without charges")
  const block = { namespace: new Namespace("never blocked"), key: charge.key, policy: blockPolicy, cost: 0 }
  return { charges: [{ ...charge, namespace }, block], at }
}

const seed = Number(process.env.SLUICE_SEED ?? Math.floor(Math.random() * 2 ** 31))

it(`decides ${STEPS} checks as memory does, in the compact form, in the general form and in both by turns (SLUICE_SEED=${seed})`, async () => {
  const pick = numbers(seed)
  const store = redisStore(client, OPTIONS)
  let steps = 0
  for (let trial = 0; steps < STEPS; trial++) {
    const kind = ALGORITHMS[pick(0, ALGORITHMS.length - 1)] as (typeof ALGORITHMS)[number]
    const hasBurst = kind.algorithm === "token-bucket" || kind.algorithm === "leaky-bucket"
    const window = WINDOWS_MS[pick(0, 4)] as number
    const options = { ...kind, window, limit: pick(1, 12), ...(hasBurst ? { burst: pick(1, 20) } : {}) }
    const policy = compilePolicy(options, "")
    const changed = compilePolicy({ ...options, limit: pick(1, 12) }, "")
    const [inCompact, inGeneral, inTurns] = ["compact", "general", "turns"].map(
      (name) => new Namespace(`${name} ${trial}`),
    ) as [Namespace, Namespace, Namespace]
    // Every key is charged first, and the clock of the memory store does not move: it must sweep no key that a step back needs.
    const memory = memoryStore({ clock: { now: () => 0 } })
    let now = 1_700_000_000_000_000 + pick(0, 1_000_000)
    const first = (namespace: Namespace) => KEYS.map((key) => ({ namespace, key, policy, cost: 1 }))
    await memory.charge(first(inCompact), now)
    for (const namespace of [inCompact, inGeneral, inTurns]) await store.charge(first(namespace), now)
    for (let call = 0; call < 25; call++) {
      const { window } = policy
      const gaps = [0, 0, 1, window, pick(0, window), pick(0, 2 * window), -pick(0, 3 * window)]
      now += gaps[pick(0, gaps.length - 1)] as number
      const used = pick(0, 9) === 0 ? changed : policy
      // In half of the calls every key comes once, at cost 1.
      const isPlain = pick(0, 1) === 1
      const checks: Check[] = Array.from({ length: pick(1, isPlain ? KEYS.length : 6) }, (_, i) => {
        const key = KEYS[isPlain ? i : pick(0, 3)] as string
        const cost = isPlain ? 1 : ([0, 1, 1, 2, 3, 200][pick(0, 5)] as number)
        return { charges: [{ namespace: inCompact, key, policy: used, cost }], at: now }
      })
      const byTurns = checks.map((check) =>
        call % 2 === 0
          ? general(check, inTurns)
          : { ...check, charges: check.charges.map((charge) => ({ ...charge, namespace: inTurns })) },
      )
      const expected = fields(await memory.checkMany(checks))
      expect(fields(await store.checkMany(checks))).toEqual(expected)
      expect(fields(await store.checkMany(checks.map((check) => general(check, inGeneral))))).toEqual(
        expected,
      )
      expect(fields(await store.checkMany(byTurns))).toEqual(expected)
      steps += checks.length
    }
    for (const key of KEYS) {
      const states = [inCompact, inGeneral, inTurns].map(
        ({ name }) => `s1:${name.replace(" ", "%20")}:{${key}}`,
      )
      const [one, ...others] = await client.mgetBuffer(...states)
      expect(one?.length).toBeGreaterThan(0)
      for (const other of others) expect(other).toEqual(one)
    }
    await memory.close()
  }
  await store.close()
}, 60_000)

it("decides a single check by the server's clock as memory does at that time", async () => {
  const store = redisStore(client, OPTIONS)
  for (const [place, kind] of ALGORITHMS.entries()) {
    for (const window of WINDOWS_MS) {
      const policy = compilePolicy({ ...kind, window, limit: 7 }, "")
      const charges = [{ namespace: new Namespace(`single ${place} ${window}`), key: "k", policy, cost: 1 }]
      const memory = memoryStore({ clock: { now: () => 0 } })
      for (let i = 0; i < 40; i++) {
        const outcome = await store.check(charges)
        expect(fields([outcome])).toEqual(fields([await memory.check(charges, outcome.now)]))
      }
      await memory.close()
    }
  }
  await store.close()
})

/** A client that notes for each call whether the server answered it in the compact form: the other one starts with -1. */
function watched(isCompact: boolean[]): Redis {
  return new Proxy(client, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (name !== "evalshaBuffer") return typeof value === "function" ? value.bind(target) : value
      return async (...args: unknown[]) => {
        const reply = await value.apply(target, args)
        isCompact.push(reply.readDoubleLE(0) >= 0)
        return reply
      }
    },
  })
}

it.each(BUCKETS)("$algorithm has the compact form, for one check and for many", async (kind) => {
  const isCompact: boolean[] = []
  const store = redisStore(watched(isCompact), OPTIONS)
  const policy = compilePolicy({ ...kind, limit: 5, window: "1m" }, "")
  const namespace = new Namespace(`compact ${kind.algorithm}`)
  const check = (key: string) => ({ charges: [{ namespace, key, policy, cost: 1 }] })
  for (let i = 0; i < 3; i++) {
    await store.checkMany([check("a")])
    await store.checkMany([check("a"), check("b"), check("c"), check("a")])
  }
  expect(isCompact).toEqual(Array(6).fill(true))
  await store.close()
})

it("uses the general form when a state was written under another policy, and only then", async () => {
  const isCompact: boolean[] = []
  const store = redisStore(watched(isCompact), OPTIONS)
  const namespace = new Namespace("changed")
  const check = (limit: number) => {
    const policy = compilePolicy({ algorithm: "token-bucket", limit, window: "1m" }, "")
    return store.check([{ namespace, key: "k", policy, cost: 1 }])
  }
  for (const limit of [5, 5, 7, 7]) await check(limit)
  expect(isCompact).toEqual([true, true, false, true])
  await store.close()
})

it("does not change a key of another type, and fails only the checks on it", async () => {
  const store = redisStore(client, { deadline: "10s", heartbeat: 0 })
  const policy = compilePolicy({ algorithm: "token-bucket", limit: 5, window: "1m" }, "")
  const namespace = new Namespace("types")
  await client.rpush("s1:types:{list}", "not ours")
  const check = (key: string) => ({ charges: [{ namespace, key, policy, cost: 1 }] })
  const [good, bad, again] = await store.checkMany([check("good"), check("list"), check("good")])
  expect([good?.degraded, bad?.degraded, again?.degraded]).toEqual([undefined, "local", undefined])
  expect(again?.verdicts[0]?.remaining).toBe(3)
  expect(await client.lrange("s1:types:{list}", 0, -1)).toEqual(["not ours"])
  expect(store.stats.failures).toEqual({ "wrong-type": 1 })
  await store.close()
})

it.each(ALGORITHMS)("$algorithm $anchor: a denied check repairs a key without expiry", async (kind) => {
  const store = redisStore(client, { deadline: "10s", heartbeat: 0 })
  const policy = compilePolicy({ ...kind, limit: 1, window: "1m" }, "")
  const namespace = new Namespace(`permanent:${kind.algorithm}:${"anchor" in kind}`)
  const charges = [{ namespace, key: "k", policy, cost: 1 }]
  await store.check(charges)
  await client.persist(`s1:${namespace.name}:{k}`)
  expect((await store.check(charges)).allowed).toBe(false)
  expect(await client.pttl(`s1:${namespace.name}:{k}`)).toBeGreaterThan(0)
  await store.close()
})

it("charges a counter's next bucket from exactly its first microsecond on, as memory does", async () => {
  const store = redisStore(client, OPTIONS)
  const memory = memoryStore({ clock: { now: () => 0 } })
  const policy = compilePolicy({ algorithm: "sliding-window-counter", limit: 10, window: 1_000 }, "")
  const namespace = new Namespace("boundary")
  const start = 1_700_000_000_000_000
  // A charge on the boundary belongs to the bucket that begins there: a microsecond earlier it would leave with the one before.
  const steps = [
    { at: start, cost: 4, remaining: 6 },
    { at: start + 1_000_000, cost: 3, remaining: 3 },
    { at: start + 1_500_000, cost: 1, remaining: 4 },
    { at: start + 2_000_000, cost: 1, remaining: 5 },
    { at: start + 2_999_999, cost: 1, remaining: 8 },
    { at: start + 3_000_000, cost: 1, remaining: 7 },
  ]
  for (const { at, cost, remaining } of steps) {
    const checks = [{ charges: [{ namespace, key: "k", policy, cost }], at }]
    const found = await store.checkMany(checks)
    expect(found[0]?.verdicts[0]?.remaining).toBe(remaining)
    expect(fields(found)).toEqual(fields(await memory.checkMany(checks)))
  }
  await memory.close()
  await store.close()
})
