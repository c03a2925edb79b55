// What is checked in every runtime. This file runs inside the runtime under test, with the packed library beside it, and uses
// nothing that only Node has. Each check throws if it fails.

import { createLimiter, memoryStore, SluiceError } from "sluice"
import { limitFetch, withRateLimit } from "sluice/fetch"
import { describeStoreContract, ManualClock } from "sluice/testing"

const ONCE = { limit: 1, window: "1m", algorithm: "token-bucket" }

/** A busy machine may take longer than the default deadline, and the contract is about decisions of the store itself. */
export const PATIENT = { deadline: "10s" }

export function equal(found, expected) {
  const [a, b] = [JSON.stringify(found), JSON.stringify(expected)]
  if (a !== b) throw new Error(`expected ${b}, got ${a}`)
}

/** Runs the public contract of stores: traces of every algorithm, charges, refunds, blocks. Returns how many tests there were. */
export async function keepsContract(open) {
  const tests = []
  describeStoreContract({
    name: "store",
    open,
    describe: (_name, body) => body(),
    it: (name, body) => tests.push([name, body]),
  })
  for (const [name, body] of tests) {
    try {
      await body()
    } catch (error) {
      throw new Error(`${name}: ${error.message}`)
    }
  }
  if (tests.length < 50) throw new Error(`only ${tests.length} tests`)
}

/** Sends three requests and returns the statuses. */
export async function statusesOf(send) {
  const statuses = []
  for (let i = 0; i < 3; i++) statuses.push((await send()).status)
  return statuses
}

export const checks = {
  "algorithms, by the traces of the store contract": () => keepsContract(() => memoryStore()),

  "limiter in memory": async () => {
    const clock = new ManualClock()
    const limiter = createLimiter({ ...ONCE, clock })
    equal((await limiter.check("a")).allowed, true)
    equal((await limiter.check("a")).retryAfterMs, 60_000)
    clock.advance(60_000)
    equal(limiter.checkSync("a").allowed, true)
    await limiter.refund("a")
    equal((await limiter.peek("a")).allowed, true)
    const quick = createLimiter({ ...ONCE, window: 20 })
    await quick.check("a")
    equal((await quick.wait("a")).allowed, true)
    await quick.close()
    try {
      createLimiter({ limit: 0, window: "1m" })
    } catch (error) {
      equal([error instanceof SluiceError, error.code], [true, "LIMIT_INVALID"])
      return
    }
    throw new Error("a limit of 0 was accepted")
  },

  "rules engine": async () => {
    // Imported here, so that a runtime which cannot load it fails this check only.
    const { createRuleEngine } = await import("sluice/rules")
    const rules = `
version: 1
rules:
  - id: by-key
    match: { path: /v1/** }
    keyBy: [apiKey]
    limits: [{ limit: 1, window: 1m, algorithm: token-bucket }]`
    const engine = createRuleEngine({ rules, secret: "a secret of these checks" })
    const request = { method: "GET", path: "/v1/items", headers: { "x-api-key": "a" } }
    const first = await engine.check(request)
    const second = await engine.check(request)
    equal([first.allowed, second.allowed, second.rule], [true, false, "by-key"])
    equal((await engine.check({ ...request, path: "/other" })).allowed, true)
    const handler = withRateLimit(() => new Response("hello"), { engine })
    const headers = { "x-api-key": "b" }
    equal(
      await statusesOf(() => handler(new Request("http://a.test/v1/items", { headers }))),
      [200, 429, 429],
    )
    engine.close()
  },

  "fetch middleware": async () => {
    const handler = withRateLimit(() => new Response("hello"), { ...ONCE, limit: 2, key: () => "a" })
    const send = () => handler(new Request("http://a.test/"))
    equal(await statusesOf(send), [200, 200, 429])
    const denied = await send()
    equal(denied.headers.get("retry-after"), "30")
    equal(denied.headers.get("content-type"), "application/problem+json")
    equal(denied.headers.get("x-ratelimit-remaining"), "0")
  },

  limitFetch: async () => {
    const call = limitFetch(async () => new Response("hello"), createLimiter({ ...ONCE, limit: 2 }))
    equal((await call("http://a.test/")).status, 200)
  },
}

/** Runs checks in order, and returns what happened. */
export async function runChecks(all) {
  const results = []
  for (const [name, check] of Object.entries(all)) {
    const started = Date.now()
    let error
    try {
      await check()
    } catch (thrown) {
      error = thrown?.stack ?? String(thrown)
    }
    results.push({ name, ok: error === undefined, ms: Date.now() - started, error })
  }
  return results
}
