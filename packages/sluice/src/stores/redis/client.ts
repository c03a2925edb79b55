// The two Redis clients people have, ioredis and node-redis, in each of their topologies, behind the little that the store
// needs of them. Neither is imported: the caller's client is recognised by what it can do.

import { SluiceError } from "../../errors.js"
import { hasMethods } from "../../options.js"
import { StoreFailure } from "../fallback/store-failure.js"
import type { Message } from "./codec.js"
import { failureOf } from "./failure.js"
import { ScriptCommand } from "./script-command.js"

export interface RedisConnection {
  readonly isCluster: boolean
  /** Whether commands arrive in the order they are sent, also those of one tick. */
  readonly keepsOrder: boolean
  /** Runs a command and returns strings as bytes. In a Cluster it goes to the node of `key`. */
  send(key: string | undefined, args: (string | Buffer)[]): Promise<unknown>
  /** Runs a script that the server is thought to have. Calls back once, with its reply or an error, perhaps at once. */
  runScript(
    digest: string,
    message: Message,
    answered: (reply: unknown) => void,
    refused: (error: unknown) => void,
  ): void
  /** Resolves when commands can be sent, rejects with a StoreFailure when that is known to be hopeless. */
  ready(): Promise<void> | undefined
}

interface EventSource {
  once(event: string, listener: () => void): unknown
}

/** What ioredis's Redis and Cluster have in common. */
interface IoRedis extends EventSource {
  readonly status: string
  readonly isCluster?: boolean
  readonly options?: Readonly<Record<string, unknown>>
  connect(): Promise<unknown>
  sendCommand(command: ScriptCommand): unknown
  callBuffer(command: string, ...args: (string | Buffer)[]): Promise<unknown>
  unlink(...keys: (string | Buffer)[]): Promise<unknown>
  evalshaBuffer(digest: string, numberOfKeys: string, ...args: (string | Buffer)[]): Promise<unknown>
  evalBuffer(source: string, numberOfKeys: string, ...args: (string | Buffer)[]): Promise<unknown>
}

/** What node-redis's client, cluster and sentinel have in common; sendCommand's arguments differ between the three. */
interface NodeRedis extends EventSource {
  readonly isOpen: boolean
  readonly isReady?: boolean
  withTypeMapping(mapping: Record<number, unknown>): NodeRedis
  sendCommand(...args: unknown[]): Promise<unknown>
}

/** A client of yours: ioredis `Redis` or `Cluster`; node-redis `createClient`, `createCluster` or `createSentinel`. */
export type UserClient = object

/** Why a client of the store's own is not connected, such as a wrong password: ioredis tells it in an event only. */
export const reasons = new WeakMap<object, Error>()

/** RESP's `$`: replies that node-redis should leave as bytes. */
const BLOB_STRING = 36

const isIoRedis = hasMethods("callBuffer", "evalshaBuffer", "once")
const isNodeRedis = hasMethods("sendCommand", "withTypeMapping", "once")
const isNodeRedisCluster = hasMethods("nodeClient")
const isNodeRedisSentinel = hasMethods("acquire")

/** Which library a client is of, if any. */
export function clientKind(client: UserClient): "ioredis" | "node-redis" | undefined {
  if (isIoRedis(client)) return "ioredis"
  return isNodeRedis(client) ? "node-redis" : undefined
}

export function connectionOf(client: UserClient, place = "redisStore"): RedisConnection {
  const kind = clientKind(client)
  if (kind === "ioredis") return ioRedisConnection(client as IoRedis)
  if (kind === "node-redis") return nodeRedisConnection(client as NodeRedis)
  throw new SluiceError("OPTION_TYPE", {
    place,
    expected: "must be a client of ioredis or node-redis (the package redis)",
    found: client,
  })
}

function ioRedisConnection(client: IoRedis): RedisConnection {
  const isPlain = sendsAsIs(client)
  const traced = process.getBuiltinModule("node:diagnostics_channel").tracingChannel("ioredis:command")
  /** The first attempt to connect has ended, one way or the other. */
  let tried = false
  let connecting: Promise<void> | undefined
  return {
    isCluster: client.isCluster === true,
    keepsOrder: client.isCluster !== true,
    send(_key, args) {
      const [command, ...rest] = args as [string, ...(string | Buffer)[]]
      // The named methods tell ioredis which arguments are keys; a raw call would be routed by the wrong one.
      const script = rest as [string, string, ...(string | Buffer)[]]
      if (command === "EVAL") return client.evalBuffer(...script)
      if (command === "EVALSHA") return client.evalshaBuffer(...script)
      if (command === "UNLINK") return client.unlink(...rest)
      return client.callBuffer(command, ...rest)
    },
    runScript(digest, { keys, args }, answered, refused) {
      if (isPlain && !traced.hasSubscribers && areStrings(args))
        client.sendCommand(new ScriptCommand(digest, keys, args, answered, refused))
      else client.evalshaBuffer(digest, String(keys.length), ...keys, ...args).then(answered, refused)
    },
    ready() {
      if (client.status === "ready") {
        tried = true
        return undefined
      }
      // Only the first attempt is waited for: later, requests never queue behind a server that is away.
      if (tried || client.status === "end" || client.status === "close")
        throw notConnected(client, client.status)
      if (client.status === "wait") client.connect().catch(() => {})
      connecting ??= new Promise((resolve) => {
        client.once("ready", resolve)
        client.once("close", () => {
          tried = true
        })
      })
      return connecting
    },
  }
}

/** Whether a client of ioredis sends what it is given. A Cluster routes it, and these options have it changed or timed. */
function sendsAsIs(client: IoRedis): boolean {
  const { commandTimeout, enableAutoPipelining, keyPrefix, showFriendlyErrorStack } = client.options ?? {}
  const isChanged = enableAutoPipelining || keyPrefix || showFriendlyErrorStack
  const isTimed = commandTimeout !== undefined
  return !client.isCluster && !isChanged && !isTimed && hasMethods("sendCommand")(client)
}

function areStrings(args: readonly (string | Buffer)[]): args is readonly string[] {
  for (const arg of args) if (typeof arg !== "string") return false
  return true
}

function nodeRedisConnection(client: NodeRedis): RedisConnection {
  const isCluster = isNodeRedisCluster(client)
  const isSentinel = !isCluster && isNodeRedisSentinel(client)
  const bytes = client.withTypeMapping({ [BLOB_STRING]: Buffer })
  const send = (key: string | undefined, args: (string | Buffer)[]) => {
    if (isCluster) return bytes.sendCommand(key, false, args)
    if (isSentinel) return bytes.sendCommand(false, args)
    return bytes.sendCommand(args)
  }
  return {
    isCluster,
    // A sentinel client lends its connection to one command, and others of that tick wait while later ones pass them.
    keepsOrder: !isCluster && !isSentinel,
    send,
    runScript(digest, { keys, args }, answered, refused) {
      send(keys[0], ["EVALSHA", digest, String(keys.length), ...keys, ...args]).then(answered, refused)
    },
    ready() {
      if (client.isReady ?? client.isOpen) return undefined
      throw notConnected(client, client.isOpen ? "connecting" : "not connected; call its connect() first")
    },
  }
}

function notConnected(client: object, status: string): StoreFailure {
  const reason = reasons.get(client)
  return reason === undefined
    ? new StoreFailure("connection", `the Redis client is ${status}`)
    : new StoreFailure(failureOf(reason).kind, `the Redis client is ${status}: ${reason.message}`, {
        cause: reason,
      })
}
