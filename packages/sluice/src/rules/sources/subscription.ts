// Hears of changes on a connection of its own, beside the client that is the user's. Only ever a faster way to learn what
// looking would show a little later, so that nothing here is an error.

import { clientKind, type UserClient } from "../../stores/redis/client.js"

interface Listening {
  on(event: string, listener: (...args: string[]) => void): unknown
  connect(): Promise<unknown>
}

interface IoRedis {
  readonly isCluster?: boolean
  duplicate(...args: unknown[]): IoRedisCopy
}

interface IoRedisCopy extends Listening {
  subscribe(channel: string): Promise<unknown>
  disconnect(): void
}

interface NodeRedis {
  duplicate(): NodeRedisCopy
}

interface NodeRedisCopy extends Listening {
  subscribe(channel: string, listener: () => void): Promise<unknown>
  destroy(): unknown
}

const MAX_PAUSE_MS = 1_000
const ignore = () => {}

/** Calls back for each message, and whenever some may have been missed. Returns a function that ends it. */
export function subscribe(client: UserClient, channel: string, heard: () => void): () => void {
  return clientKind(client) === "ioredis"
    ? byIoRedis(client as IoRedis, channel, heard)
    : byNodeRedis(client as NodeRedis, channel, heard)
}

function byIoRedis(client: IoRedis, channel: string, heard: () => void): () => void {
  // Whatever the user's client does when it loses its connection, this one comes back.
  const options = { lazyConnect: true, autoResubscribe: false, retryStrategy: pauseMs }
  const copy =
    client.isCluster === true
      ? client.duplicate([], { lazyConnect: true, clusterRetryStrategy: pauseMs })
      : client.duplicate(options)
  copy.on("error", ignore)
  copy.on("message", heard)
  copy.on("ready", () => void copy.subscribe(channel).then(heard, ignore))
  copy.connect().catch(ignore)
  return () => copy.disconnect()
}

function byNodeRedis(client: NodeRedis, channel: string, heard: () => void): () => void {
  let copy: NodeRedisCopy | undefined
  let timer: NodeJS.Timeout | undefined
  let ended = false
  const leave = () => {
    try {
      Promise.resolve(copy?.destroy()).catch(ignore)
    } catch {
      // It was never connected.
    }
  }
  const join = async (attempt: number): Promise<void> => {
    try {
      copy = client.duplicate()
      copy.on("error", ignore)
      copy.on("ready", heard)
      await copy.connect()
      await copy.subscribe(channel, heard)
      heard()
    } catch {
      // Only the first connection is made here: later ones are the client's own business, and it subscribes again.
      leave()
      if (!ended) timer = setTimeout(() => void join(attempt + 1), pauseMs(attempt)).unref()
    }
  }
  void join(1)
  return () => {
    ended = true
    clearTimeout(timer)
    leave()
  }
}

/** Full jitter, so that a fleet does not come back in step. */
function pauseMs(attempt: number): number {
  return Math.ceil(Math.random() * Math.min(MAX_PAUSE_MS, 50 * 2 ** attempt))
}
