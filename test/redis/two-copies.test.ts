// Two copies of the library in one process, as duplicated installs or a bundle beside a package make them: a store of one
// works with limiters and errors of the other.

import { afterEach, describe, expect, it, vi } from "vitest"
import { eventually } from "../support/eventually.js"
import { PATIENT } from "./contract.js"
import { useRedis } from "./one-server.js"

const redis = useRedis()
const limit = { limit: 10, window: "1m" } as const

interface Copy {
  readonly sluice: typeof import("sluice")
  readonly internal: typeof import("sluice/internal")
  readonly redis: typeof import("sluice/redis")
  readonly rules: typeof import("sluice/rules")
}

async function loadCopy(): Promise<Copy> {
  vi.resetModules()
  const [sluice, internal, ofRedis, rules] = await Promise.all([
    import("sluice"),
    import("sluice/internal"),
    import("sluice/redis"),
    import("sluice/rules"),
  ])
  return { sluice, internal, redis: ofRedis, rules }
}

async function twoCopies(): Promise<[Copy, Copy]> {
  const copies: [Copy, Copy] = [await loadCopy(), await loadCopy()]
  expect(copies[0].sluice.createLimiter).not.toBe(copies[1].sluice.createLimiter)
  return copies
}

afterEach(() => {
  vi.resetModules()
})

describe("a store of one copy under a limiter of the other", () => {
  it("keeps blocks in Redis, and notifies every instance", async () => {
    const [one, other] = await twoCopies()
    const stores = await Promise.all(
      [one, one].map(async ({ redis: { redisStore } }) => {
        const { client } = await redis.client()
        return redis.later(redisStore(client, { ...PATIENT, heartbeat: 30 }))
      }),
    )
    const limiters = stores.map((store) => other.sluice.createLimiter({ store, prefix: "copies", ...limit }))
    const isBlocked = async (index: number) => (await limiters[index]?.check("bad"))?.deniedBy === "block"
    // Wait until each instance knows that no key is blocked.
    const namespace = new other.internal.Namespace("copies:block", "copies")
    await Promise.all([isBlocked(0), isBlocked(1)])
    await eventually(() => stores.every((store) => !store.mayBlock(namespace)), {
      what: "nothing is blocked",
    })
    await limiters[0]?.block("bad", "1m")
    expect(await isBlocked(0)).toBe(true)
    await eventually(() => isBlocked(1), { what: "the other instance denies it" })
    await limiters[0]?.unblock("bad")
    expect(await isBlocked(0)).toBe(false)
  })

  it("keeps blocks in memory, in a store that is full", async () => {
    const [one, other] = await twoCopies()
    const store = one.sluice.memoryStore({ maxKeys: 1 })
    const limiter = other.sluice.createLimiter({ store, limit: 1, window: "1h" })
    await limiter.check("somebody")
    await limiter.block("bad", "1m")
    expect(await limiter.check("bad")).toMatchObject({ allowed: false, deniedBy: "block" })
    await store.close()
  })

  it.each(["local", "allow", "deny"] as const)(
    "answers a blocked key while Redis is away (%s)",
    async (way) => {
      const [one, other] = await twoCopies()
      const { client, close } = await redis.client()
      const store = redis.later(one.redis.redisStore(client, { deadline: "1s", heartbeat: 0 }))
      const limiter = other.sluice.createLimiter({ store, prefix: "away", ...limit, onStoreFailure: way })
      await limiter.block("bad", "1m")
      expect((await limiter.check("bad")).allowed).toBe(false)
      await close()
      expect(await limiter.check("bad")).toMatchObject({ allowed: way === "allow", degraded: way })
    },
  )
})

describe("errors of one copy", () => {
  it("are instances of the other's classes", async () => {
    const [one, other] = await twoCopies()
    const mistake = catching(() => one.sluice.createLimiter({ limit: 0, window: "1m" }))
    expect(mistake).toBeInstanceOf(other.sluice.SluiceError)
    expect(mistake).not.toBeInstanceOf(other.redis.StoreFailure)
    const refused = catching(() => one.rules.parseRuleSet("rules: nothing"))
    expect(refused).toBeInstanceOf(other.rules.RuleSetError)
    expect(refused).toBeInstanceOf(other.sluice.SluiceError)
    expect(mistake).not.toBeInstanceOf(other.rules.RuleSetError)
    expect(new one.redis.StoreFailure("timeout", "late")).toBeInstanceOf(other.redis.StoreFailure)
    for (const value of [undefined, null, 1, "error", {}, new Error("other"), () => 1])
      expect(value).not.toBeInstanceOf(other.sluice.SluiceError)
  })
})

function catching(call: () => unknown): unknown {
  try {
    return call()
  } catch (error) {
    return error
  }
}
