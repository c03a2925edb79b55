// A store by URL, with clients of its own: set up so that nothing queues while Redis is away and nothing is sent twice.

import type { Cluster, Redis } from "ioredis"
import { SluiceError } from "../../errors.js"
import { shardedStore } from "../sharded/sharded-store.js"
import type { Store } from "../store.js"
import { reasons } from "./client.js"
import type { RedisStoreOptions } from "./redis-store.js"
import { RedisStore } from "./redis-store.js"
import type { RedisAddress, RedisTarget } from "./url.js"
import { parseRedisUrl } from "./url.js"

const CONNECT_TIMEOUT_MS = 1_000
const LONGEST_RECONNECT_MS = 500
/** A question without any answer for this long: the socket is dead, also one that never got through its handshake. */
const SILENCE_MS = 500

/** Opens a store by URL. Needs the package ioredis. Does not wait for Redis: while it is away, decisions are degraded. */
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
    // A mistake in the options. Nobody else would ever close them.
    for (const client of clients) client.disconnect()
    throw error
  }
}

/**
 * A client by URL that is yours to close, set up as those of `connectRedis` are: for `redisRules`. Of a ring it is the first
 * server. Needs the package ioredis, and does not wait for Redis.
 */
export async function openRedisClient(url: string): Promise<Redis | Cluster> {
  const target = parseRedisUrl(url)
  const library = await loadClient()
  const client = clientOf(target, library)
  client.on("error", (error: Error) => reasons.set(client, error))
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
      // What was under way when a connection broke may have been carried out, and after 100 ms nobody waits for the rest.
      retryDelayOnFailover: 0,
      retryDelayOnClusterDown: 0,
      retryDelayOnTryAgain: 10,
      // Names in a certificate are names of hosts; the cluster speaks in addresses.
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
    socketTimeout: SILENCE_MS,
    maxLoadingRetryTime: SILENCE_MS,
    retryStrategy: reconnectDelay,
    // Both would make counts jump when Redis comes back.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A primary that became a replica is left at once; the command is not sent again.
    reconnectOnError: (error: Error) => error.message.startsWith("READONLY"),
  }
}

/** Full jitter, so that a fleet does not come back in step. */
function reconnectDelay(attempt: number): number {
  return Math.ceil(Math.random() * Math.min(LONGEST_RECONNECT_MS, 50 * 2 ** attempt))
}

/** A store that owns its client: it gives up a dead socket, and closes the client with itself. */
function owned(client: Redis | Cluster, options: RedisStoreOptions): RedisStore {
  // Without a listener ioredis writes to the console. Failures of calls are told by the calls.
  client.on("error", (error: Error) => reasons.set(client, error))
  client.on("ready", () => reasons.delete(client))
  return new RedisStore(client, options, {
    // Destroyed, not ended: a frozen server never says goodbye. The other nodes of a Cluster still answer, so there only
    // `socketTimeout` gives a socket up.
    abandon: () => void ("stream" in client && client.stream?.destroy()),
    close: () => client.disconnect(),
  })
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
