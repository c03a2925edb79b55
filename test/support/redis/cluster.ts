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
  /** Default 3, the least that can agree on a fail-over. */
  primaries?: number
  /** Default 1. */
  replicasPerPrimary?: number
  /** Silence after which a node is suspected. Default 800 ms. */
  nodeTimeoutMs?: number
}

const MEET_WITHIN_MS = 20_000

export async function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { config = {}, primaries = 3, replicasPerPrimary = 1, nodeTimeoutMs = 800 } = options
  const count = primaries * (1 + replicasPerPrimary)
  const common: RedisConfig = {
    "cluster-enabled": "yes",
    "cluster-node-timeout": nodeTimeoutMs,
    // A replica stays with its primary and may always take over, however long the link was down.
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
    // Twice the time an election may take: the larger of 2 s and two node timeouts. And a little more.
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
    // Distinct epochs from the start spare the nodes the time to sort out a tie.
    await node.cli("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
    await node.cli("CLUSTER", "ADDSLOTSRANGE", Math.round(i * share), Math.round((i + 1) * share) - 1)
  }
  await Promise.all(primaries.map(assign))
}

/** Every node meets every other: gossip would get there too, but only after some seconds. */
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
