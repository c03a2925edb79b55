import { eventually } from "../eventually.js"
import { controlCluster, type RedisCluster } from "./cluster-control.js"
import { type ClusterNode, healthyCount, viewOf } from "./cluster-view.js"
import { SLOT_COUNT } from "./keyslot.js"
import type { RedisConfig } from "./process.js"
import { type RedisServer, startAll, stopAll } from "./single.js"

export type { RedisCluster } from "./cluster-control.js"
export type { ClusterNode } from "./cluster-view.js"
export type { MoveHooks } from "./move-slot.js"

export interface ClusterOptions {
  /** Directives for every node. */
  config?: RedisConfig
  /** Default 3, the smallest number that can agree on a failover. */
  primaries?: number
  /** Default 1. */
  replicasPerPrimary?: number
  /** The time without an answer after which nodes suspect a node of failure. Default 800 ms. */
  nodeTimeoutMs?: number
}

const MEET_WITHIN_MS = 20_000

export async function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { config = {}, primaries = 3, replicasPerPrimary = 1, nodeTimeoutMs = 800 } = options
  const count = primaries * (1 + replicasPerPrimary)
  const common: RedisConfig = {
    "cluster-enabled": "yes",
    "cluster-node-timeout": nodeTimeoutMs,
    // A replica keeps its primary, and may take over however long the link was down.
    "cluster-allow-replica-migration": "no",
    "cluster-replica-validity-factor": 0,
    "repl-diskless-sync-delay": 0,
    "repl-ping-replica-period": 1,
    ...config,
  }
  const servers = await startAll(Array.from({ length: count }, () => ({ config: common })))
  try {
    const nodes = await Promise.all(servers.map(withId))
    await assignSlots(nodes.slice(0, primaries))
    await introduce(nodes)
    await Promise.all(
      nodes
        .slice(primaries)
        .map((replica, i) => replica.cli("CLUSTER", "REPLICATE", nodes[i % primaries]?.id ?? "")),
    )
    // A little more than twice the longest election, which takes 2 s or two node timeouts, whichever is longer.
    const cluster = controlCluster(nodes, 2 * Math.max(2_000, 2 * nodeTimeoutMs) + 100)
    await cluster.settled()
    return cluster
  } catch (error) {
    await stopAll(servers)
    throw error
  }
}

async function withId(server: RedisServer): Promise<ClusterNode> {
  return Object.assign(server, { id: String(await server.cli("CLUSTER", "MYID")) })
}

async function assignSlots(primaries: readonly ClusterNode[]): Promise<void> {
  const share = SLOT_COUNT / primaries.length
  const assign = async (node: ClusterNode, i: number): Promise<void> => {
    // With distinct epochs from the start, the nodes need no time to resolve a collision.
    await node.cli("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
    await node.cli("CLUSTER", "ADDSLOTSRANGE", Math.round(i * share), Math.round((i + 1) * share) - 1)
  }
  await Promise.all(primaries.map(assign))
}

/** Sends CLUSTER MEET from every node to every other one. Gossip alone would take some seconds. */
async function introduce(nodes: readonly ClusterNode[]): Promise<void> {
  const meetOthers = async (node: ClusterNode, i: number): Promise<void> => {
    for (const other of nodes.slice(i + 1)) await node.cli("CLUSTER", "MEET", other.host, other.port)
  }
  await Promise.all(nodes.map(meetOthers))
  const allKnown = async (): Promise<boolean> => {
    const views = await Promise.all(nodes.map(viewOf))
    return views.every((view) => view.length === nodes.length && healthyCount(view) === nodes.length)
  }
  await eventually(allKnown, {
    within: MEET_WITHIN_MS,
    every: 25,
    what: "all cluster nodes know each other",
  })
}
