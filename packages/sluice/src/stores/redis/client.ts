// ioredis and node-redis, in each of their topologies, behind the few functions that the store needs. Neither is imported: a
// client is recognised by its public methods.

import { SluiceError } from "../../errors.js"
import { isThenable } from "../../notify.js"
import { hasMethods } from "../../options.js"
import { StoreFailure } from "../fallback/store-failure.js"
import { failureOf } from "./failure.js"

/** A client as the store uses it. */
export interface RedisConnection {
  readonly isCluster: boolean
  /** Whether the server receives commands in the order they are sent, also those of one tick. */
  readonly keepsOrder: boolean
  /** Runs a command, in a Cluster on the node of `key`. Strings in the reply are Buffers. */
  send(key: string | undefined, args: (string | Buffer)[]): Promise<unknown>
  /**
   * Undefined when commands can be sent, a promise while the client connects for the first time. Throws a `StoreFailure`
   * when the client is not connected.
   */
  ready(): Promise<void> | undefined
}

/**
 * The last error of a client that `connect.ts` made, such as a wrong password: ioredis reports it in an event only. The symbol is
 * registered globally, so that another copy of the library finds the error.
 */
export const LAST_ERROR: unique symbol = Symbol.for("sluice.last-error")

/** The common part of both libraries. */
interface Client {
  [LAST_ERROR]?: Error
  once(event: string, listener: () => void): unknown
}

/** The common part of `Redis` and `Cluster` of ioredis. */
interface IoRedis extends Client {
  readonly status: string
  readonly isCluster?: boolean
  connect(): Promise<unknown>
  callBuffer(command: string, ...args: (string | Buffer)[]): Promise<unknown>
  evalBuffer(source: string, numberOfKeys: string, ...args: (string | Buffer)[]): Promise<unknown>
  evalshaBuffer(digest: string, numberOfKeys: string, ...args: (string | Buffer)[]): Promise<unknown>
  unlink(...keys: (string | Buffer)[]): Promise<unknown>
}

/** The common part of client, cluster and sentinel of node-redis. The arguments of `sendCommand` differ between the three. */
interface NodeRedis extends Client {
  readonly isOpen: boolean
  readonly isReady?: boolean
  /** Version 4 has no such method. */
  withTypeMapping?(mapping: Record<number, unknown>): NodeRedis
  sendCommand(...args: unknown[]): Promise<unknown>
}

/** A client that you made: ioredis `Redis` or `Cluster`; node-redis `createClient`, `createCluster` or `createSentinel`. */
export type UserClient = object

/** The RESP type `$`, whose replies node-redis should return as Buffers. */
const BLOB_STRING = 36

const isIoRedis = hasMethods("callBuffer", "evalshaBuffer", "once")
const hasNodeRedisMethods = hasMethods("sendCommand", "connect", "once")
const isNodeRedisCluster = hasMethods("nodeClient")
const isNodeRedisSentinel = hasMethods("acquire")

/** The library that a client belongs to, or undefined for anything else. */
export function clientKind(client: UserClient): "ioredis" | "node-redis" | undefined {
  if (isIoRedis(client)) return "ioredis"
  return hasNodeRedisMethods(client) && "isOpen" in client ? "node-redis" : undefined
}

/** Wraps a client. `place` names the option in the error for anything that is not a client. */
export function connectionOf(client: UserClient, place = "redisStore"): RedisConnection {
  const kind = clientKind(client)
  if (kind === "ioredis") return ioRedisConnection(client as IoRedis)
  if (kind === "node-redis") return nodeRedisConnection(client as NodeRedis)
  const open = place === "redisStore" ? "await connectRedis(url)" : "await openRedisClient(url)"
  const hint = isThenable(client)
    ? ": await the promise"
    : typeof client === "string"
      ? `; for a URL write ${open}`
      : ""
  const expected = `must be a client of ioredis or node-redis (the package redis)${hint}`
  // A text is not shown, because a URL may contain a password.
  throw new SluiceError(
    "OPTION_TYPE",
    typeof client === "string" ? { place, expected } : { place, expected, found: client },
  )
}

/**
 * The first attempt of a client to connect. Checks wait for it, up to their deadline. Later they never queue behind a server that
 * is away.
 */
class FirstConnection {
  /** Whether the attempt has ended, with or without success. */
  hasEnded = false
  #ready: Promise<void> | undefined

  /** Resolves when the client is ready. `failure` is the event of an attempt that failed. */
  ready(client: Client, failure: string): Promise<void> {
    this.#ready ??= new Promise((resolve) => {
      client.once("ready", resolve)
      client.once(failure, () => {
        this.hasEnded = true
      })
    })
    return this.#ready
  }
}

function ioRedisConnection(client: IoRedis): RedisConnection {
  const first = new FirstConnection()
  return {
    isCluster: client.isCluster === true,
    keepsOrder: client.isCluster !== true,
    send(_key, args) {
      const command = args[0] as string
      const rest = args.slice(1)
      const script = rest as [string, string, ...(string | Buffer)[]]
      // A command that has keys goes by its own method: `callBuffer` loses the command's name when auto-pipelining is on.
      if (command === "EVALSHA") return client.evalshaBuffer(...script)
      if (command === "EVAL") return client.evalBuffer(...script)
      if (command === "UNLINK") return client.unlink(...rest)
      return client.callBuffer(command, ...rest)
    },
    ready() {
      if (client.status === "ready") {
        first.hasEnded = true
        return undefined
      }
      if (first.hasEnded || client.status === "end" || client.status === "close")
        throw notConnected(client, client.status)
      if (client.status === "wait") client.connect().catch(() => {})
      return first.ready(client, "close")
    },
  }
}

function nodeRedisConnection(client: NodeRedis): RedisConnection {
  const isCluster = isNodeRedisCluster(client)
  const isSentinel = !isCluster && isNodeRedisSentinel(client)
  const bytes = client.withTypeMapping?.({ [BLOB_STRING]: Buffer }) ?? client
  // Version 4 takes the wish for Buffers with each command.
  const options = client.withTypeMapping === undefined ? [{ returnBuffers: true }] : []
  const send = (key: string | undefined, args: (string | Buffer)[]) => {
    if (isCluster) return bytes.sendCommand(key, false, args, ...options)
    if (isSentinel) return bytes.sendCommand(false, args)
    return bytes.sendCommand(args, ...options)
  }
  const first = new FirstConnection()
  return {
    isCluster,
    // A sentinel client lends its connection to one command at a time, so a later command may overtake one that waits.
    keepsOrder: !isCluster && !isSentinel,
    send,
    ready() {
      if (client.isReady ?? client.isOpen) {
        first.hasEnded = true
        return undefined
      }
      if (!client.isOpen) throw notConnected(client, "not connected; call its connect() first")
      if (first.hasEnded) throw notConnected(client, "connecting")
      return first.ready(client, "reconnecting")
    },
  }
}

function notConnected(client: Client, status: string): StoreFailure {
  const { [LAST_ERROR]: reason } = client
  return reason === undefined
    ? new StoreFailure("connection", `the Redis client is ${status}`)
    : new StoreFailure(failureOf(reason).kind, `the Redis client is ${status}: ${reason.message}`, {
        cause: reason,
      })
}
