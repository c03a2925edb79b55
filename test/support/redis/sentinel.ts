import { eventually } from "../eventually.js"
import type { RedisConfig } from "./process.js"
import { RespError, type RespReply } from "./resp.js"
import { type RedisServer, startAll, stopAll } from "./single.js"

export interface SentinelOptions {
  /** Directives for the primary and the replicas. */
  config?: RedisConfig
  /** Default 2. */
  replicas?: number
  /** Default 3, with a quorum of more than half. */
  sentinels?: number
  /** Time without an answer after which a Sentinel considers a server down. Default 500. With less, healthy servers seem down. */
  downAfterMs?: number
}

/** A primary with replicas, monitored by Sentinels. Every method asks only servers that are neither killed nor paused. */
export interface SentinelTopology {
  /** The name under which the Sentinels know the primary. */
  readonly name: string
  /** `redis+sentinel://127.0.0.1:p1,127.0.0.1:p2,127.0.0.1:p3/name` */
  readonly url: string
  readonly sentinels: readonly RedisServer[]
  /** The primary and the replicas. The list stays the same when roles change. */
  readonly servers: readonly RedisServer[]
  /** The server that most Sentinels name as the primary and that reports this role itself. */
  primary(): Promise<RedisServer>
  /** The answering servers that are not the primary. */
  replicas(): Promise<RedisServer[]>
  /** Triggers a failover, waits until every Sentinel names the new primary, and returns it. */
  failover(): Promise<RedisServer>
  /** Kills the primary and returns it without waiting for the Sentinels to detect the failure. */
  killPrimary(): Promise<RedisServer>
  /** Waits until every Sentinel names one primary other than the given server. */
  primaryOtherThan(server: RedisServer): Promise<RedisServer>
  /** Waits until every Sentinel considers all servers healthy and every replica is in sync. */
  settled(): Promise<void>
  stop(): Promise<void>
}

const NAME = "sluice"
const SETTLE_WITHIN_MS = 15_000

export async function startSentinel(options: SentinelOptions = {}): Promise<SentinelTopology> {
  const { config = {}, replicas = 2, sentinels: sentinelCount = 3, downAfterMs = 500 } = options
  const running: RedisServer[] = []
  try {
    const data = { "repl-diskless-sync-delay": 0, "repl-ping-replica-period": 1, ...config }
    const [primary] = await startAll([{ config: data }])
    if (primary === undefined) throw new Error("no primary")
    running.push(primary)
    const replicaof = `${primary.host} ${primary.port}`
    running.push(
      ...(await startAll(Array.from({ length: replicas }, () => ({ config: { ...data, replicaof } })))),
    )
    const servers = [...running]
    // Sentinels discover replicas from the primary's INFO. They find a replica that the first INFO lacks only in the next one.
    await eventually(() => inSync(primary, servers), {
      within: SETTLE_WITHIN_MS,
      what: "replicas are in sync",
    })

    const quorum = Math.floor(sentinelCount / 2) + 1
    const sentinel = [
      `monitor ${NAME} ${primary.host} ${primary.port} ${quorum}`,
      `down-after-milliseconds ${NAME} ${downAfterMs}`,
      `failover-timeout ${NAME} 1000`,
      `parallel-syncs ${NAME} ${replicas}`,
    ]
    const watchers = Array.from({ length: sentinelCount }, () => ({ sentinel: true, config: { sentinel } }))
    const sentinels = await startAll(watchers)
    running.push(...sentinels)
    await Promise.all(sentinels.map(quicken))

    const topology = buildTopology(servers, sentinels)
    await topology.settled()
    return topology
  } catch (error) {
    await stopAll(running)
    throw error
  }
}

/**
 * By default, Sentinels announce a change every 2 s, read INFO every 10 s and, after they were frozen, do nothing for
 * 30 s (tilt). Tests need shorter times. The ping period has two bounds. It must be well below `downAfterMs`, or
 * healthy servers seem down between two pings. And five periods must exceed 1 s: Sentinels promote only a replica that
 * they heard from within five periods, and INFO comes once a second while the primary is down.
 */
async function quicken(sentinel: RedisServer): Promise<void> {
  const periods = { ping: 250, info: 200, publish: 200, tilt: 1_000 }
  const settings = Object.entries(periods).flatMap(([name, ms]) => [`${name}-period`, ms])
  await sentinel.cli("SENTINEL", "DEBUG", ...settings)
}

function buildTopology(servers: readonly RedisServer[], sentinels: readonly RedisServer[]): SentinelTopology {
  const watching = (): RedisServer[] => sentinels.filter((sentinel) => sentinel.answering)

  /** The server that all Sentinels name as the primary, if it reports this role itself. */
  const agreedPrimary = async (): Promise<RedisServer | undefined> => {
    const named = await Promise.all(watching().map(namedPort))
    const port = named[0]
    const server = servers.find((candidate) => candidate.port === port)
    if (server === undefined || !server.answering || named.some((other) => other !== port)) return undefined
    return (await role(server)) === "master" ? server : undefined
  }

  const primary = (): Promise<RedisServer> =>
    eventually(agreedPrimary, { within: SETTLE_WITHIN_MS, what: "the Sentinels agree on a primary" })

  const primaryOtherThan = (old: RedisServer): Promise<RedisServer> =>
    eventually(
      async () => {
        const current = await agreedPrimary()
        return current === old ? undefined : current
      },
      { within: SETTLE_WITHIN_MS, what: `a primary other than port ${old.port}` },
    )

  const settled = async (): Promise<void> => {
    const isSettled = async (): Promise<boolean> => {
      const current = await agreedPrimary()
      if (current === undefined || !(await inSync(current, servers))) return false
      const views = await Promise.all(watching().map((sentinel) => seesAll(sentinel, servers, sentinels)))
      return views.every(Boolean)
    }
    await eventually(isSettled, {
      within: SETTLE_WITHIN_MS,
      every: 25,
      what: "every Sentinel sees everything",
    })
  }

  return {
    name: NAME,
    url: `redis+sentinel://${sentinels.map(({ host, port }) => `${host}:${port}`).join(",")}/${NAME}`,
    servers,
    sentinels,
    primary,
    async replicas() {
      const current = await primary()
      return servers.filter((server) => server.answering && server !== current)
    },
    async failover() {
      const old = await primary()
      await eventually(() => orderFailover(watching()), {
        within: SETTLE_WITHIN_MS,
        every: 50,
        what: "a fail-over starts",
      })
      return primaryOtherThan(old)
    },
    async killPrimary() {
      const victim = await primary()
      await victim.kill()
      return victim
    },
    primaryOtherThan,
    settled,
    stop: () => stopAll([...sentinels, ...servers]),
  }
}

/** Orders a failover. Returns false if the caller should try again: a failover is in progress, or no replica is fit yet. */
async function orderFailover([sentinel]: RedisServer[]): Promise<boolean> {
  if (sentinel === undefined) throw new Error("no Sentinel answers")
  try {
    await sentinel.cli("SENTINEL", "FAILOVER", NAME)
    return true
  } catch (error) {
    if (error instanceof RespError && ["INPROG", "NOGOODSLAVE"].includes(error.code)) return false
    throw error
  }
}

async function namedPort(sentinel: RedisServer): Promise<number> {
  const address = await sentinel.cli("SENTINEL", "GET-MASTER-ADDR-BY-NAME", NAME)
  return Array.isArray(address) ? Number(address[1]) : Number.NaN
}

async function role(server: RedisServer): Promise<RespReply | undefined> {
  const reply = await server.cli("ROLE")
  return Array.isArray(reply) ? reply[0] : undefined
}

/** Whether every other answering server replicates this primary and has all its data. */
async function inSync(primary: RedisServer, servers: readonly RedisServer[]): Promise<boolean> {
  const followers = servers.filter((server) => server.answering && server !== primary)
  const states = await Promise.all(followers.map((server) => server.cli("ROLE")))
  return states.every(
    (state) =>
      Array.isArray(state) && state[0] === "slave" && state[2] === primary.port && state[3] === "connected",
  )
}

async function seesAll(
  sentinel: RedisServer,
  servers: readonly RedisServer[],
  sentinels: readonly RedisServer[],
): Promise<boolean> {
  const primary = asMap(await sentinel.cli("SENTINEL", "MASTER", NAME))
  if (primary.get("flags") !== "master") return false
  if (Number(primary.get("num-slaves")) !== servers.length - 1) return false
  if (Number(primary.get("num-other-sentinels")) !== sentinels.length - 1) return false
  const replicas = await sentinel.cli("SENTINEL", "REPLICAS", NAME)
  if (!Array.isArray(replicas)) return false
  return replicas.map(asMap).every((replica) => {
    const answers = servers.some((server) => server.answering && server.port === Number(replica.get("port")))
    return !answers || (replica.get("flags") === "slave" && replica.get("master-link-status") === "ok")
  })
}

/** Converts a Sentinel's reply, `[name, value, name, value, …]`. */
function asMap(flat: RespReply): Map<string, string> {
  const fields = new Map<string, string>()
  if (!Array.isArray(flat)) return fields
  for (let i = 0; i + 1 < flat.length; i += 2) fields.set(String(flat[i]), String(flat[i + 1]))
  return fields
}
