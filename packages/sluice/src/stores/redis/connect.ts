// Stores and clients by URL. The clients queue nothing while Redis is away, and send nothing twice.

import type { Cluster, Redis } from "ioredis"
import { SluiceError } from "../../errors.js"
import { shardedStore } from "../sharded/sharded-store.js"
import type { Store } from "../store.js"
import { LAST_ERROR } from "./client.js"
import type { RedisStoreOptions } from "./redis-store.js"
import { RedisStore } from "./redis-store.js"
import type { RedisAddress, RedisTarget } from "./url.js"
import { parseRedisUrl } from "./url.js"

const CONNECT_TIMEOUT_MS = 1_000
const MAX_RECONNECT_MS = 500
/** When commands wait and nothing arrives for this long, ioredis takes the socket for dead and connects again. */
const SOCKET_TIMEOUT_MS = 500

/** Opens a store by URL. Needs the package ioredis. Does not wait for Redis: until it answers, decisions are degraded. */
export async function connectRedis(url: string, options: RedisStoreOptions = {}): Promise<Store> {
  const target = parseRedisUrl(url)
  const library = await loadClient()
  const clients: (Redis | Cluster)[] = []
  try {
    return open(target, library, (client) => {
      clients.push(client)
      return owned(client, options)
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
export async function openRedisClient(url: string): Promise<Redis | Cluster> {
  const target = parseRedisUrl(url)
  const library = await loadClient()
  const client = clientOf(target, library)
  keepLastError(client)
  return client
}

function open(
  target: RedisTarget,
  library: Awaited<ReturnType<typeof loadClient>>,
  own: (client: Redis | Cluster) => RedisStore,
): Store {
  if (target.topology !== "ring") return own(clientOf(target, library))
  return shardedStore(
    target.addresses.map((address) => ({
      name: `${address.host}:${address.port}`,
      store: own(clientOf({ ...target, topology: "single", addresses: [address] }, library)),
    })),
  )
}

function clientOf(
  target: RedisTarget,
  { Cluster, Redis }: Awaited<ReturnType<typeof loadClient>>,
): Redis | Cluster {
  if (target.topology === "cluster") {
    return new Cluster([...target.addresses], {
      redisOptions: clientOptions(target),
      clusterRetryStrategy: reconnectDelay,
      enableOfflineQueue: false,
      slotsRefreshTimeout: CONNECT_TIMEOUT_MS,
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
      ...clientOptions(target),
      sentinels: [...target.addresses],
      name: target.name as string,
      sentinelRetryStrategy: reconnectDelay,
      enableTLSForSentinelMode: target.tls,
      ...(password === undefined ? {} : { sentinelPassword: password }),
      ...(username === undefined ? {} : { sentinelUsername: username }),
    }
    return new Redis(sentinel)
  }
  const { host, port } = target.addresses[0] as RedisAddress
  return new Redis({ ...clientOptions(target), host, port })
}

function clientOptions(target: RedisTarget) {
  return {
    db: target.database,
    ...(target.username === undefined ? {} : { username: target.username }),
    ...(target.password === undefined ? {} : { password: target.password }),
    ...(target.tls ? { tls: {} } : {}),
    connectTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    maxLoadingRetryTime: SOCKET_TIMEOUT_MS,
    retryStrategy: reconnectDelay,
    // Both would make counts jump when Redis returns.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // Connects again when the primary has become a replica. `true` does not send the command again.
    reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
  }
}

/** Full jitter, so that the instances of a fleet do not reconnect together. */
function reconnectDelay(attempt: number): number {
  return Math.ceil(Math.random() * Math.min(MAX_RECONNECT_MS, 50 * 2 ** attempt))
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
