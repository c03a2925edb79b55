// The short form of a call (scripts/uniform.lua) decides as memory does, also when the server goes over to the general form.

import { Redis } from "ioredis"
import { memoryStore } from "sluice"
import { redisStore } from "sluice/redis"
import { afterAll, beforeAll, expect, it } from "vitest"
import { compilePolicy } from "../../packages/sluice/src/policy.js"
import { type Check, Namespace, type Outcome } from "../../packages/sluice/src/stores/store.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"

const STEPS = 8_000
const ALGORITHMS = [
  { algorithm: "token-bucket" },
  { algorithm: "leaky-bucket" },
  { algorithm: "gcra" },
  { algorithm: "fixed-window" },
  { algorithm: "fixed-window", anchor: "first-request" },
  { algorithm: "sliding-window-counter" },
] as const
const WINDOWS_MS = [1, 7, 100, 1_000, 60_000]
const KEYS = ["a", "b", "c", "d"]

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

function fields(outcomes: readonly Outcome[]) {
  return outcomes.map(({ allowed, degraded, verdicts }) => ({
    allowed,
    degraded,
    verdicts: verdicts.map(({ stale: _stale, ...rest }) => rest),
  }))
}

const seed = Number(process.env["SLUICE_SEED"] ?? Math.floor(Math.random() * 2 ** 31))

it(`decides as memory does over ${STEPS} checks (SLUICE_SEED=${seed})`, async () => {
  const pick = numbers(seed)
  const store = redisStore(client, { deadline: "10s", expiryBuffer: "5m", heartbeat: 0 })
  let steps = 0
  for (let trial = 0; steps < STEPS; trial++) {
    const kind = ALGORITHMS[pick(0, ALGORITHMS.length - 1)] as (typeof ALGORITHMS)[number]
    const hasBurst = kind.algorithm === "token-bucket" || kind.algorithm === "leaky-bucket"
    const window = WINDOWS_MS[pick(0, 4)] as number
    const options = { ...kind, window, limit: pick(1, 12), ...(hasBurst ? { burst: pick(1, 20) } : {}) }
    const policy = compilePolicy(options, "")
    const changed = compilePolicy({ ...options, limit: pick(1, 12) }, "")
    const namespace = new Namespace(`trial ${trial}`)
    // Keys are touched first, and its clock stands still: memory must not sweep what a step back would revive.
    const memory = memoryStore({ clock: { now: () => 0 } })
    let now = 1_700_000_000_000_000 + pick(0, 1_000_000)
    const first = KEYS.map((key) => ({ namespace, key, policy, cost: 1 }))
    await Promise.all([memory.charge(first, now), store.charge(first, now)])
    for (let call = 0; call < 25; call++) {
      const gaps = [
        0,
        0,
        1,
        policy.window,
        pick(0, policy.window),
        pick(0, 2 * policy.window),
        -pick(0, 3 * policy.window),
      ]
      now += gaps[pick(0, gaps.length - 1)] as number
      const used = pick(0, 9) === 0 ? changed : policy
      // Half of the calls are plain: every key once, at cost 1.
      const isPlain = pick(0, 1) === 1
      const checks: Check[] = Array.from({ length: pick(1, isPlain ? KEYS.length : 6) }, (_, i) => ({
        charges: [
          {
            namespace,
            key: KEYS[isPlain ? i : pick(0, 3)] as string,
            policy: used,
            cost: isPlain ? 1 : ([0, 1, 1, 2, 3, 200][pick(0, 5)] as number),
          },
        ],
        at: now,
      }))
      const expected = await memory.checkMany(checks)
      expect(fields(await store.checkMany(checks))).toEqual(fields(expected))
      steps += checks.length
    }
    await memory.close()
  }
  await store.close()
}, 60_000)

it("decides a lone check by the server's clock as memory does at that time", async () => {
  const store = redisStore(client, { deadline: "10s", expiryBuffer: "5m", heartbeat: 0 })
  for (const [place, kind] of ALGORITHMS.entries()) {
    for (const window of WINDOWS_MS) {
      const policy = compilePolicy({ ...kind, window, limit: 7 }, "")
      const charges = [{ namespace: new Namespace(`lone ${place} ${window}`), key: "k", policy, cost: 1 }]
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

/** How the server answered: the script's general form says -1 first. */
it.each(ALGORITHMS)("$algorithm $anchor takes the short form for one check and for many", async (kind) => {
  const isShort: boolean[] = []
  const watched = new Proxy(client, {
    get(target, name) {
      const value = Reflect.get(target, name)
      if (name !== "sendCommand") return typeof value === "function" ? value.bind(target) : value
      return (command: { args: string[]; resolve: (reply: Buffer) => void }) => {
        const { args, resolve } = command
        command.resolve = (reply) => {
          isShort.push(args[Number(args[1]) + 2] !== "" && reply.readDoubleLE(0) > 0)
          resolve(reply)
        }
        value.call(target, command)
      }
    },
  })
  const store = redisStore(watched, { deadline: "10s", heartbeat: 0 })
  const policy = compilePolicy({ ...kind, limit: 5, window: "1m" }, "")
  const namespace = new Namespace(`short ${kind.algorithm} ${"anchor" in kind}`)
  const check = (key: string) => ({ charges: [{ namespace, key, policy, cost: 1 }] })
  for (let i = 0; i < 3; i++) {
    await store.checkMany([check("a")])
    await store.checkMany([check("a"), check("b"), check("c"), check("a")])
  }
  expect(isShort).toEqual(Array(6).fill(true))
  await store.close()
})

it("leaves a key of another type alone, and fails only the checks on it", async () => {
  const store = redisStore(client, { deadline: "10s", heartbeat: 0 })
  const policy = compilePolicy({ algorithm: "token-bucket", limit: 5, window: "1m" }, "")
  const namespace = new Namespace("foreign")
  await client.rpush("s1:foreign:{list}", "not ours")
  const check = (key: string) => ({ charges: [{ namespace, key, policy, cost: 1 }] })
  const [good, bad, again] = await store.checkMany([check("good"), check("list"), check("good")])
  expect([good?.degraded, bad?.degraded, again?.degraded]).toEqual([undefined, "local", undefined])
  expect(again?.verdicts[0]?.remaining).toBe(3)
  expect(await client.lrange("s1:foreign:{list}", 0, -1)).toEqual(["not ours"])
  expect(store.stats.failures).toEqual({ "wrong-type": 1 })
  await store.close()
})

it("gives a key that somebody made permanent its expiry back when it is denied", async () => {
  const store = redisStore(client, { deadline: "10s", heartbeat: 0 })
  const policy = compilePolicy({ algorithm: "token-bucket", limit: 1, window: "1m" }, "")
  const charges = [{ namespace: new Namespace("permanent"), key: "k", policy, cost: 1 }]
  await store.check(charges)
  await client.persist("s1:permanent:{k}")
  expect((await store.check(charges)).allowed).toBe(false)
  expect(await client.pttl("s1:permanent:{k}")).toBeGreaterThan(0)
  await store.close()
})

it("charges a counter's next bucket from exactly its first microsecond on, as memory does", async () => {
  const store = redisStore(client, { deadline: "10s", expiryBuffer: "5m", heartbeat: 0 })
  const memory = memoryStore({ clock: { now: () => 0 } })
  const policy = compilePolicy({ algorithm: "sliding-window-counter", limit: 10, window: 1_000 }, "")
  const namespace = new Namespace("boundary")
  const start = 1_700_000_000_000_000
  // The charge on the boundary belongs to the bucket that begins there: a microsecond earlier it would fade with the last.
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
