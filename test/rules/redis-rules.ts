import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Redis } from "ioredis"
import {
  type EditableRuleSource,
  type RedisRulesOptions,
  type RuleSourceEvent,
  redisRules,
} from "sluice/rules"
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest"
import { type Library, openSingle } from "../redis/clients.js"
import { LOOPBACK } from "../support/ports.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"

/** Where rules are in Redis: the set in force, those before it, and what announces the next. */
export const CURRENT = "s1:{rules:default}:current"
export const HISTORY = "s1:{rules:default}:history"
const CHANNEL = "s1:{rules:default}:changed"

/** A source, and what happened to it besides new revisions. */
export interface Watched {
  readonly source: EditableRuleSource
  readonly events: RuleSourceEvent[]
  /** The revisions that it reported. */
  readonly heard: number[]
  kinds(): string[]
}

export interface Stage {
  readonly server: RedisServer
  /** An empty folder of the test's own. */
  readonly folder: string
  /** Opens a source with a client of its own; both are closed after the test. */
  open(options?: RedisRulesOptions, library?: Library, address?: Address): Promise<Watched>
  /** Closes something after the test. */
  later<T extends { close(): unknown }>(thing: T): T
  /** How many connections listen for changes. */
  subscribers(): Promise<number>
  /** Replaces the rules by something else, in one step, so that no instance finds the key empty and fills it. */
  putInPlace(command: readonly string[]): Promise<void>
}

interface Address {
  readonly host: string
  readonly port: number
}

/** One server for a test file, empty at the start of each test. */
export function useStage(): Stage {
  let server: RedisServer
  let folder: string
  const opened: { close(): unknown }[] = []
  const later = <T extends { close(): unknown }>(thing: T): T => {
    opened.push(thing)
    return thing
  }
  beforeAll(async () => {
    server = await startRedis()
  })
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "sluice-rules-"))
    if (!server.running) await server.restart()
    await server.cli("FLUSHALL")
  })
  afterEach(async () => {
    for (const thing of opened.splice(0).reverse()) await thing.close()
    rmSync(folder, { recursive: true, force: true })
  })
  afterAll(() => server.stop())
  return {
    get server() {
      return server
    },
    get folder() {
      return folder
    },
    later,
    async open(options = {}, library = "ioredis", address = server) {
      const { client } = later(await openSingle(library, address))
      return await watched(later, client, options)
    },
    async subscribers() {
      const [, count] = (await server.cli("PUBSUB", "NUMSUB", CHANNEL)) as unknown[]
      return Number(count)
    },
    async putInPlace(command) {
      const script = 'redis.call("DEL", KEYS[1]) return redis.call(unpack(ARGV))'
      await server.cli("EVAL", script, 1, CURRENT, ...command)
    },
  }
}

/** A source on a client that is there already. */
export async function watched(
  later: Stage["later"],
  client: object,
  options: RedisRulesOptions,
): Promise<Watched> {
  const events: RuleSourceEvent[] = []
  const source = later(await redisRules(client, { onEvent: (event) => events.push(event), ...options }))
  const heard: number[] = []
  source.subscribe(({ revision }) => heard.push(revision))
  return { source, events, heard, kinds: () => events.map(({ kind }) => kind) }
}

/** An ioredis client that does not write to the console while its server is away. */
export function quietClient(
  port: number,
  login: { username?: string; password?: string } = {},
): Redis & { close(): void } {
  const client = new Redis({
    host: LOOPBACK,
    port,
    retryStrategy: () => 20,
    maxRetriesPerRequest: 0,
    ...login,
  })
  client.on("error", () => undefined)
  return Object.assign(client, { close: () => client.disconnect() })
}
