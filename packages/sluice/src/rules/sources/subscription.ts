// Subscribes to announced changes on a connection of its own, which it opens from the user's client. Errors are ignored:
// polling finds the same changes a little later.

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

/** Calls `onChange` for each message, and whenever messages may have been missed. Returns a function that ends it. */
export function subscribe(client: UserClient, channel: string, onChange: () => void): () => void {
  return clientKind(client) === "ioredis"
    ? byIoRedis(client as IoRedis, channel, onChange)
    : byNodeRedis(client as NodeRedis, channel, onChange)
}

function byIoRedis(client: IoRedis, channel: string, onChange: () => void): () => void {
  // This connection always reconnects, whatever the options of the user's client are.
  const options = { lazyConnect: true, autoResubscribe: false, retryStrategy: pauseMs }
  const copy =
    client.isCluster === true
      ? client.duplicate([], { lazyConnect: true, clusterRetryStrategy: pauseMs })
      : client.duplicate(options)
  copy.on("error", ignore)
  copy.on("message", onChange)
  copy.on("ready", () => void copy.subscribe(channel).then(onChange, ignore))
  copy.connect().catch(ignore)
  return () => copy.disconnect()
}

function byNodeRedis(client: NodeRedis, channel: string, onChange: () => void): () => void {
  let copy: NodeRedisCopy | undefined
  let timer: NodeJS.Timeout | undefined
  let ended = false
  const disconnect = () => {
    try {
      Promise.resolve(copy?.destroy()).catch(ignore)
    } catch {
      // The copy was never connected.
    }
  }
  const connect = async (attempt: number): Promise<void> => {
    try {
      copy = client.duplicate()
      copy.on("error", ignore)
      copy.on("ready", onChange)
      await copy.connect()
      await copy.subscribe(channel, onChange)
      onChange()
    } catch {
      // Only the first connection needs this: node-redis reconnects and subscribes again by itself.
      disconnect()
      if (!ended) timer = setTimeout(() => void connect(attempt + 1), pauseMs(attempt)).unref()
    }
  }
  void connect(1)
  return () => {
    ended = true
    clearTimeout(timer)
    disconnect()
  }
}

/** A random pause, so that a fleet does not reconnect at the same moment. */
function pauseMs(attempt: number): number {
  return Math.ceil(Math.random() * Math.min(MAX_PAUSE_MS, 50 * 2 ** attempt))
}
