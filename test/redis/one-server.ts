import type { Charge } from "sluice"
import type { StoreFailure } from "sluice/redis"
import { afterAll, afterEach, beforeAll, expect } from "vitest"
import type { Policy } from "../../packages/sluice/src/algorithms/algorithm.js"
import { storageKey } from "../../packages/sluice/src/stores/redis/keys.js"
import {
  RawRedisStore,
  type RawRedisStoreOptions,
} from "../../packages/sluice/src/stores/redis/redis-store.js"
import { Counter } from "../../packages/sluice/src/testing/contract/counter.js"
import { type RedisOptions, type RedisServer, startRedis } from "../support/redis/single.js"
import { type Library, type OpenClient, openSingle } from "./clients.js"
import { PATIENT } from "./contract.js"
import { expectOnlyExpiringKeys } from "./expiry-scan.js"

export { Counter }

/** One server for a test file; what a test opens on it is closed after the test. */
export interface OneServer {
  readonly server: RedisServer
  client(library?: Library): Promise<OpenClient>
  /** A store that throws when it fails, so that no failure is answered locally. By default it has no heartbeat. */
  store(options?: RawRedisStoreOptions, library?: Library): Promise<RawRedisStore>
  /** Closes something after the test. */
  later<T extends { close(): unknown }>(thing: T): T
}

export function useRedis(options: RedisOptions = {}): OneServer {
  let server: RedisServer
  const opened: { close(): unknown }[] = []
  const later = <T extends { close(): unknown }>(thing: T): T => {
    opened.push(thing)
    return thing
  }
  const client = async (library: Library = "ioredis") => later(await openSingle(library, server))
  beforeAll(async () => {
    server = await startRedis(options)
  })
  afterEach(async () => {
    for (const thing of opened.splice(0).reverse()) await thing.close()
  })
  afterAll(async () => {
    await expectOnlyExpiringKeys([server])
    await server.stop()
  })
  return {
    get server() {
      return server
    },
    client,
    later,
    async store(options = {}, library = "ioredis") {
      const { client: user } = await client(library)
      return later(new RawRedisStore(user, { ...PATIENT, heartbeat: 0, ...options }))
    },
  }
}

/** The name in Redis of the counter's key. */
export function nameOf(counter: Counter, key = "key"): string {
  return storageKey(counter.charge(1, key))
}

export function chargeOf(counter: Counter, policy: Policy, cost = 1, key = "key"): Charge {
  return { namespace: counter.namespace, key, policy, cost }
}

/** How often the server ran a command since `forgetCalls`. */
export async function callsOf(server: RedisServer, command: string): Promise<number> {
  const stats = String(await server.cli("INFO", "commandstats"))
  return Number(new RegExp(`^cmdstat_${command}:calls=(\\d+)`, "m").exec(stats)?.[1] ?? 0)
}

export async function forgetCalls(server: RedisServer): Promise<void> {
  await server.cli("CONFIG", "RESETSTAT")
}

/** The failure that a call rejects with. */
export async function failureOf(call: Promise<unknown>): Promise<StoreFailure> {
  const outcome = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(outcome).toMatchObject({ name: "StoreFailure" })
  return outcome as StoreFailure
}

export function times<T>(count: number, make: (i: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i))
}

/** The server's own clock, in microseconds. */
export async function serverTime(server: RedisServer): Promise<number> {
  const [seconds, micros] = (await server.cli("TIME")) as [string, string]
  return Number(seconds) * 1e6 + Number(micros)
}
