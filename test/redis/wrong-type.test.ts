import { createLimiter } from "sluice"
import { redisStore, type StoreFailureEvent } from "sluice/redis"
import { describe, expect, it } from "vitest"
import { variants } from "../../packages/sluice/src/testing/contract/policies.js"
import type { RespConnection } from "../support/redis/resp-connection.js"
import { PATIENT } from "./contract.js"
import { Counter, failureOf, nameOf, useRedis } from "./one-server.js"

const redis = useRedis()
const AT = Date.UTC(2026, 0, 1) * 1000

/** Doubles as a string for a latin1 connection. */
function doubles(...values: number[]): string {
  return Buffer.from(new Float64Array(values).buffer).toString("latin1")
}

type Plant = readonly [content: string, command: (key: string) => (string | number)[]]

const LIVES = ["PX", 60_000]

/** Values of other types that another program may have stored under a counter's key. */
const notStrings: Plant[] = [
  ["a list", (key) => ["LPUSH", key, "x"]],
  ["a hash", (key) => ["HSET", key, "x", 1]],
  ["a set", (key) => ["SADD", key, "x"]],
]
const strings: Plant[] = [
  ["an empty string", (key) => ["SET", key, "", ...LIVES]],
  ["a short string", (key) => ["SET", key, "12", ...LIVES]],
  ["a long string", (key) => ["SET", key, "x".repeat(1_000), ...LIVES]],
]
const sortedSet: Plant = ["a sorted set of somebody else", (key) => ["ZADD", key, 1, "x"]]
/** Strings of the right length whose numbers Sluice never writes. */
const garbage: Plant[] = [3, 4, 9].flatMap((cells): Plant[] => [
  [`${cells} cells of NaN`, (key) => ["SET", key, doubles(...Array(cells).fill(Number.NaN)), ...LIVES]],
  [`${cells} cells of Infinity`, (key) => ["SET", key, doubles(...Array(cells).fill(1 / 0)), ...LIVES]],
  [`${cells} cells of text`, (key) => ["SET", key, "abcdefgh".repeat(cells), ...LIVES]],
  [`${cells} cells below zero`, (key) => ["SET", key, doubles(...Array(cells).fill(-1e15)), ...LIVES]],
])

async function plant(key: string, [, command]: Plant): Promise<void> {
  const connection: RespConnection = await redis.server.connect({ encoding: "latin1" })
  await connection.command(...command(key))
  await connection.command("PEXPIRE", key, 60_000)
  connection.close()
}

describe.each(variants)("$title", ({ limit }) => {
  const isLog = limit.algorithm === "sliding-window-log"
  const plants = [...notStrings, ...strings, ...(isLog ? [sortedSet] : [sortedSet, ...garbage])]

  it.each(plants)("finds %s where its state should be", async (...planted) => {
    const store = await redis.store()
    const bad = new Counter(store, limit)
    const good = new Counter(store, limit)
    const own = new Counter(store, limit)
    const log = new Counter(store, { algorithm: "sliding-window-log", limit: 10, window: "1m" })
    await good.check(AT)
    const key = nameOf(bad)
    await plant(key, planted)

    const [before, failed, after] = await Promise.allSettled([
      good.check(AT),
      store.check([own.charge(2), log.charge(2), bad.charge()], AT),
      good.check(AT),
    ])
    const fits = planted[0].includes("cells")
    if (fits && failed.status === "fulfilled") {
      // The bytes happen to be readable. No number of the answer may be invalid.
      for (const { remaining, retryAfter, resetAfter } of failed.value.verdicts) {
        expect(Number.isInteger(remaining) && remaining >= 0).toBe(true)
        expect(retryAfter >= 0 && resetAfter >= 0).toBe(true)
      }
    } else {
      expect(failed).toMatchObject({ reason: { kind: "wrong-type", ambiguous: false } })
      // Nothing of that check was charged.
      expect(await own.peek(AT)).toMatchObject({ remaining: 10 })
      expect(await log.peek(AT)).toMatchObject({ remaining: 10 })
    }
    // The other checks of the same call are not affected.
    expect(before).toMatchObject({ value: { allowed: true, remaining: 8 } })
    expect(after).toMatchObject({ value: { allowed: true, remaining: 7 } })
  })

  it("does not change a value that it cannot read", async () => {
    const store = await redis.store()
    const bad = new Counter(store, limit)
    await plant(nameOf(bad), notStrings[0] as Plant)
    await failureOf(bad.check(AT))
    await store.charge([bad.charge()], AT).catch(() => undefined)
    await store.refund([bad.charge()], AT).catch(() => undefined)
    expect(await redis.server.cli("LRANGE", nameOf(bad), 0, -1)).toEqual(["x"])
  })

  it("can be reset, and works from then on", async () => {
    const store = await redis.store()
    const bad = new Counter(store, limit)
    await plant(nameOf(bad), sortedSet)
    await store.reset([bad.charge()])
    expect(await bad.check(AT)).toMatchObject({ allowed: true, remaining: 9 })
  })
})

it("degrades only the limiter whose key it is, with a typed failure, and opens no breaker", async () => {
  const failures: StoreFailureEvent[] = []
  const { client } = await redis.client()
  const store = redis.later(
    redisStore(client, { ...PATIENT, onFailure: (event) => void failures.push(event) }),
  )
  const good = createLimiter({ store, prefix: "good", limit: 100, window: "1m" })
  const bad = createLimiter({ store, prefix: "bad", limit: 100, window: "1m" })
  await bad.check("user")
  const keys = (await redis.server.cli("KEYS", "s1:bad:*")) as string[]
  expect(keys).toHaveLength(1)
  await redis.server.cli("SET", keys[0] as string, "hello", "PX", 60_000)
  for (let i = 0; i < 30; i++) {
    const [one, other] = await Promise.all([good.check("user"), bad.check("user")])
    expect(one).toMatchObject({ allowed: true, remaining: 99 - i })
    expect(one.degraded).toBeUndefined()
    expect(other).toMatchObject({ allowed: true, degraded: "local" })
  }
  expect(new Set(failures.map(({ failure }) => failure.kind))).toEqual(new Set(["wrong-type"]))
})
