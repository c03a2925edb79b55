// Stores and clients by URL. The clients queue nothing while Redis is away, and send nothing twice.

import type { Cluster, Redis } from "ioredis"
import type { Duration } from "../../duration.js"
import { parseDuration } from "../../duration.js"
import { SluiceError } from "../../errors.js"
import { checkFields } from "../../options.js"
import { shardedStore } from "../sharded/sharded-store.js"
import type { Store } from "../store.js"
import { LAST_ERROR } from "./client.js"
import type { RedisStoreOptions } from "./redis-store.js"
import { REDIS_STORE_FIELDS, RedisStore } from "./redis-store.js"
import type { RedisAddress, RedisTarget } from "./url.js"
import { parseRedisUrl } from "./url.js"

/** How the client that `connectRedis` and `openRedisClient` make keeps its connection. */
export interface RedisClientOptions {
  /** How long a connection may take to open. Default: 1 s. */
  connectTimeout?: Duration
  /** While commands wait and nothing arrives for this long, the client takes the connection for dead. Default: 500 ms. */
  socketTimeout?: Duration
  /** The longest pause before the client connects again. Default: 500 ms. */
  maxReconnectDelay?: Duration
}

export interface ConnectRedisOptions extends RedisStoreOptions, RedisClientOptions {}

/** The options of a client in milliseconds. */
type ClientTimes = Record<keyof RedisClientOptions, number>

const DEFAULT_TIMES: ClientTimes = { connectTimeout: 1_000, socketTimeout: 500, maxReconnectDelay: 500 }

/** Opens a store by URL. Needs the package ioredis. Does not wait for Redis: until it answers, decisions are degraded. */
export async function connectRedis(url: string, options: ConnectRedisOptions = {}): Promise<Store> {
  checkFields(options, [...REDIS_STORE_FIELDS, ...Object.keys(DEFAULT_TIMES)], "connectRedis")
  const { connectTimeout, socketTimeout, maxReconnectDelay, ...storeOptions } = options
  const target = parseRedisUrl(url)
  const times = timesOf({ connectTimeout, socketTimeout, maxReconnectDelay }, "connectRedis")
  const library = await loadClient()
  const clients: (Redis | Cluster)[] = []
  try {
    return open(target, times, library, (client) => {
      clients.push(client)
      return owned(client, storeOptions)
    })
  } catch (error) {
    // The options are wrong, and nobody else can close these clients.
    for (const client of clients) client.disconnect()
    throw error
  }
}

/**
 * Opens a client by URL for `redisRules`, with the settings that `connectRedis` uses. You close it. The URL of a ring gives a
 * client for its first server. Needs the package ioredis, and does not wait for Redis.
 */
export async function openRedisClient(
  url: string,
  options: RedisClientOptions = {},
): Promise<Redis | Cluster> {
  checkFields(options, Object.keys(DEFAULT_TIMES), "openRedisClient")
  const target = parseRedisUrl(url)
  const times = timesOf(options, "openRedisClient")
  const library = await loadClient()
  const client = clientOf(target, times, library)
  keepLastError(client)
  return client
}

function timesOf(
  options: { [Name in keyof RedisClientOptions]: Duration | undefined },
  place: string,
): ClientTimes {
  const times = { ...DEFAULT_TIMES }
  for (const name of Object.keys(times) as (keyof ClientTimes)[]) {
    const value = options[name]
    if (value === undefined) continue
    times[name] = Math.ceil(parseDuration(value, `${place}.${name}`))
    // ioredis takes 0 for no time-out.
    if (times[name] > 0) continue
    throw new SluiceError("OPTION_TYPE", {
      place: `${place}.${name}`,
      expected: "must be above 0",
      found: value,
    })
  }
  return times
}

function open(
  target: RedisTarget,
  times: ClientTimes,
  library: Awaited<ReturnType<typeof loadClient>>,
  own: (client: Redis | Cluster) => RedisStore,
): Store {
  if (target.topology !== "ring") return own(clientOf(target, times, library))
  return shardedStore(
    target.addresses.map((address) => ({
      name: `${address.host}:${address.port}`,
      store: own(clientOf({ ...target, topology: "single", addresses: [address] }, times, library)),
    })),
  )
}

function clientOf(
  target: RedisTarget,
  times: ClientTimes,
  { Cluster, Redis }: Awaited<ReturnType<typeof loadClient>>,
): Redis | Cluster {
  if (target.topology === "cluster") {
    return new Cluster([...target.addresses], {
      redisOptions: clientOptions(target, times),
      clusterRetryStrategy: reconnectDelay(times),
      enableOfflineQueue: false,
      slotsRefreshTimeout: times.connectTimeout,
      // Redis may have run what was under way when a connection broke, and after 100 ms nobody waits for the rest.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      retryDelayOnTryAgain: 10,
      // A Cluster announces addresses, and certificates name hosts: use both as they are.
      dnsLookup: (address, callback) => callback(null, address),
    })
  }
  if (target.topology === "sentinel") {
    const { password, username } = target
    const sentinel = {
      ...clientOptions(target, times),
      sentinels: [...target.addresses],
      name: target.name as string,
      sentinelRetryStrategy: reconnectDelay(times),
      enableTLSForSentinelMode: target.tls,
      ...(password === undefined ? {} : { sentinelPassword: password }),
      ...(username === undefined ? {} : { sentinelUsername: username }),
    }
    return new Redis(sentinel)
  }
  const { host, port } = target.addresses[0] as RedisAddress
  return new Redis({ ...clientOptions(target, times), host, port })
}

function clientOptions(target: RedisTarget, times: ClientTimes) {
  return {
    db: target.database,
    ...(target.username === undefined ? {} : { username: target.username }),
    ...(target.password === undefined ? {} : { password: target.password }),
    ...(target.tls ? { tls: {} } : {}),
    connectTimeout: times.connectTimeout,
    socketTimeout: times.socketTimeout,
    maxLoadingRetryTime: times.socketTimeout,
    retryStrategy: reconnectDelay(times),
    // Both would make counts jump when Redis returns.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // Connects again when the primary has become a replica. `true` does not send the command again.
    reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
  }
}

/** Full jitter, so that the instances of a fleet do not reconnect together. */
function reconnectDelay({ maxReconnectDelay }: ClientTimes): (attempt: number) => number {
  return (attempt) => Math.ceil(Math.random() * Math.min(maxReconnectDelay, 50 * 2 ** attempt))
}

/** Without a listener ioredis writes errors to the console. The calls report them. */
function keepLastError(client: (Redis | Cluster) & { [LAST_ERROR]?: Error }): void {
  client.on("error", (error: Error) => {
    client[LAST_ERROR] = error
  })
  client.on("ready", () => {
    delete client[LAST_ERROR]
  })
}

/** A store that closes its client when it is closed. */
function owned(client: Redis | Cluster, options: RedisStoreOptions): RedisStore {
  keepLastError(client)
  return new RedisStore(client, options, () => client.disconnect())
}

async function loadClient() {
  try {
    return await import("ioredis")
  } catch (cause) {
    throw new SluiceError("CLIENT_MISSING", {
      place: "connectRedis",
      expected: "needs the package ioredis: npm install ioredis",
      cause,
    })
  }
}
