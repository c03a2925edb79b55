import { Redis } from "ioredis"
import { createClient } from "redis"
import { describe, expect, it } from "vitest"
import { blockPolicy } from "../../packages/sluice/src/algorithms/block.js"
import { RawRedisStore } from "../../packages/sluice/src/stores/redis/redis-store.js"
import { variants } from "../../packages/sluice/src/testing/contract/policies.js"
import { eventually } from "../support/eventually.js"
import type { Library, OpenClient } from "./clients.js"
import { Counter, chargeOf, failureOf, nameOf, times, useRedis } from "./one-server.js"

const redis = useRedis()
const AT = Date.UTC(2026, 0, 1) * 1000

/** Every command that the scripts and the store use. docs/redis.md says to allow these and no others. */
const COMMANDS = [
  "evalsha",
  "eval",
  "unlink",
  // Inside the scripts.
  "time",
  "mget",
  "set",
  "exists",
  "pexpire",
  "pttl",
  "del",
  "zadd",
  "zcard",
  "zcount",
  "zincrby",
  "zrange",
  "zrangebyscore",
  "zrank",
  "zrem",
  "zremrangebyscore",
  "zscore",
]

let users = 0

/** A user who may run these commands on keys of Sluice. */
async function addUser(commands: readonly string[]): Promise<string> {
  const name = `app${users++}`
  const rules = ["reset", "on", ">secret", "~s1:*", ...commands.map((command) => `+${command}`)]
  await redis.server.cli("ACL", "SETUSER", name, ...rules)
  return name
}

async function openAs(username: string, library: Library = "ioredis"): Promise<OpenClient> {
  const { host, port } = redis.server
  if (library === "ioredis") {
    // The ready check of ioredis needs INFO, which is not in the list.
    const client = new Redis({ host, port, username, password: "secret", enableReadyCheck: false })
    client.on("error", () => undefined)
    await eventually(() => client.status === "ready")
    return redis.later({ client, close: async () => client.disconnect() })
  }
  const client = createClient({ socket: { host, port }, username, password: "secret" })
  client.on("error", () => undefined)
  await client.connect()
  return redis.later({ client, close: async () => void (await client.close()) })
}

/** Does everything that a store can do, once. Rejects with the first failure. */
async function doEverything(opened: OpenClient): Promise<void> {
  await redis.server.cli("SCRIPT", "FLUSH")
  await redis.server.cli("DEL", "s1:{fleet}:instances", "s1:{fleet}:blocks", "s1:{fleet}:blocked")
  const store = redis.later(new RawRedisStore(opened.client, { deadline: "10s", heartbeat: 50 }))
  for (const { limit } of variants) {
    const counter = new Counter(store, limit)
    for (let i = 0; i < 4; i++) await counter.check(AT + i, 3)
    await counter.check(AT + 4, 8)
    await store.refund([counter.charge(4)], AT + 5)
    await counter.check(AT - 86_400_000_000, 5)
    await store.check([counter.charge(), chargeOf(counter, blockPolicy, 0, "blocked")])
    await store.reset([counter.charge()])
  }
  const counter = new Counter(store, { limit: 10, window: "1m" })
  await store.check([counter.charge(1, "new"), counter.charge(1, "newer")])
  await store.charge([chargeOf(counter, blockPolicy, 60_000_000)])
  const silent = "the heartbeat is not counted"
  await eventually(() => redis.server.cli("EXISTS", "s1:{fleet}:instances"), { what: silent })
  expect(await redis.server.cli("EXISTS", "s1:{fleet}:blocks"), silent).toBe(1)
  await store.close()
  expect(await redis.server.cli("EXISTS", "s1:{fleet}:instances"), "it has not left").toBe(0)
}

describe("a user with the least privileges", () => {
  it.each(["ioredis", "node-redis"] as const)("can do everything, through %s", async (library) => {
    await doEverything(await openAs(await addUser(COMMANDS), library))
  })

  it.each(COMMANDS)("needs %s", async (command) => {
    const rest = COMMANDS.filter((other) => other !== command)
    await expect(doEverything(await openAs(await addUser(rest)))).rejects.toThrow()
  })

  it("keeps the breaker closed although it may not run INFO", async () => {
    const opened = await openAs(await addUser(COMMANDS))
    const store = redis.later(new RawRedisStore(opened.client, { deadline: "10s" }))
    const counter = new Counter(store, { limit: 1_000, window: "1m" })
    for (let i = 0; i < 30; i++) await counter.check(AT)
    await Promise.all(times(100, () => counter.check(AT)))
    expect(store.breakers).toEqual(["closed"])
  })
})

describe("a user without the privilege", () => {
  it("of any command gets a typed failure", async () => {
    const store = redis.later(
      new RawRedisStore((await openAs(await addUser([]))).client, { deadline: "10s", heartbeat: 0 }),
    )
    const counter = new Counter(store, { limit: 1, window: "1m" })
    expect(await failureOf(counter.check(AT))).toMatchObject({ kind: "no-permission", ambiguous: false })
  })

  it("of a command inside the script gets a typed failure, and nothing is charged", async () => {
    const user = await addUser(COMMANDS.filter((command) => command !== "set"))
    const store = redis.later(
      new RawRedisStore((await openAs(user)).client, { deadline: "10s", heartbeat: 0 }),
    )
    const counter = new Counter(store, { algorithm: "gcra", limit: 1, window: "1m" })
    expect(await failureOf(counter.check(AT))).toMatchObject({ kind: "no-permission", ambiguous: false })
    expect(await redis.server.cli("EXISTS", nameOf(counter))).toBe(0)
  })

  it("of the keys gets a typed failure", async () => {
    const user = await addUser(COMMANDS)
    await redis.server.cli("ACL", "SETUSER", user, "resetkeys", "~other:*")
    const store = redis.later(
      new RawRedisStore((await openAs(user)).client, { deadline: "10s", heartbeat: 0 }),
    )
    const counter = new Counter(store, { limit: 1, window: "1m" })
    expect(await failureOf(counter.check(AT))).toMatchObject({ kind: "no-permission" })
  })

  it("who has the wrong password gets a typed failure", async () => {
    const { host, port } = redis.server
    const user = await addUser(COMMANDS)
    const client = new Redis({ host, port, username: user, password: "hunter2" })
    client.on("error", () => undefined)
    redis.later({ close: () => client.disconnect() })
    const store = redis.later(new RawRedisStore(client, { deadline: "90ms", heartbeat: 0 }))
    const counter = new Counter(store, { limit: 1, window: "1m" })
    const failure = await failureOf(counter.check(AT))
    expect(["no-auth", "timeout", "connection"]).toContain(failure.kind)
    expect(JSON.stringify([failure.message, failure.stack, String(failure.cause)])).not.toContain("hunter2")
  })
})
