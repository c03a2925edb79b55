import { eventually } from "../eventually.js"
import { type ClusterNode, healthyCount, ownsSlot, viewOf } from "./cluster-view.js"
import { type MoveHooks, moveSlot } from "./move-slot.js"
import { stopAll } from "./single.js"

/** A Redis Cluster for tests. "Answering" nodes are neither killed nor paused. Every method asks only answering nodes. */
export interface RedisCluster {
  /** The nodes that started as primaries, and then the others. The order stays the same when roles change. */
  readonly nodes: readonly ClusterNode[]
  /** `redis+cluster://127.0.0.1:p1,127.0.0.1:p2,…` */
  readonly url: string
  /** Waits until the answering nodes agree on the primary that owns the slot, and returns it. */
  nodeForSlot(slot: number): Promise<ClusterNode>
  /** The answering replicas of that primary. */
  replicasForSlot(slot: number): Promise<ClusterNode[]>
  /**
   * Runs CLUSTER FAILOVER on a replica, waits until every node knows the new owner, and returns it.
   * Takes about 0.1 s. A node can be promoted only once in 4 s: for many failovers, alternate between the shards.
   */
  failover(slot: number): Promise<ClusterNode>
  /** Kills the owner of the slot and returns it without waiting for the cluster to detect the failure. */
  killPrimary(slot: number): Promise<ClusterNode>
  /** Waits until the answering nodes agree on an owner other than the given node. */
  ownerOtherThan(slot: number, node: { port: number }): Promise<ClusterNode>
  /** Moves a slot with its keys to another primary, and waits until every node knows the new owner. */
  moveSlot(slot: number, to: ClusterNode, hooks?: MoveHooks): Promise<void>
  /** Waits until every answering node reports `cluster_state:ok`, all report the same view, and replicas are in sync. */
  settled(): Promise<void>
  stop(): Promise<void>
}

const SETTLE_WITHIN_MS = 20_000
/** Redis cancels a manual failover after 5 s. */
const MANUAL_FAILOVER_MS = 5_500
const MANUAL_FAILOVER_TRIES = 3

/** @param electionMemoryMs how long a node remembers the votes of its last election */
export function controlCluster(nodes: readonly ClusterNode[], electionMemoryMs: number): RedisCluster {
  const electedAt = new Map<string, number>()
  const answering = (): ClusterNode[] => nodes.filter((node) => node.answering)

  /** The owner of the slot if all answering nodes name the same one and it answers. */
  const agreedOwner = async (slot: number): Promise<ClusterNode | undefined> => {
    const views = await Promise.all(answering().map(viewOf))
    const ids = views.map((view) => view.find((node) => ownsSlot(node, slot))?.id)
    const owner = nodes.find((node) => node.id === ids[0])
    return owner?.answering && ids.every((id) => id === owner.id) ? owner : undefined
  }

  const nodeForSlot = (slot: number): Promise<ClusterNode> =>
    eventually(() => agreedOwner(slot), {
      within: SETTLE_WITHIN_MS,
      what: `the nodes agree who owns slot ${slot}`,
    })

  const ownerChange = (
    slot: number,
    old: { port: number },
    within = SETTLE_WITHIN_MS,
  ): Promise<ClusterNode> =>
    eventually(
      async () => {
        const owner = await agreedOwner(slot)
        return owner?.port === old.port ? undefined : owner
      },
      { within, what: `an owner of slot ${slot} other than port ${old.port}` },
    )

  const ownerOtherThan = async (
    slot: number,
    old: { port: number },
    within?: number,
  ): Promise<ClusterNode> => {
    const owner = await ownerChange(slot, old, within)
    electedAt.set(owner.id, performance.now())
    return owner
  }

  /** Waits, because a node that was just elected counts the same votes again and "wins" an election that did not take place. */
  const forgetVotes = async ({ id }: ClusterNode): Promise<void> => {
    const wait = (electedAt.get(id) ?? Number.NEGATIVE_INFINITY) + electionMemoryMs - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
  }

  const failover = async (slot: number): Promise<ClusterNode> => {
    const old = await nodeForSlot(slot)
    const replica = await eventually(() => replicaInSync(slot), {
      within: SETTLE_WITHIN_MS,
      what: `slot ${slot} has a replica to fail over to`,
    })
    await forgetVotes(replica)
    for (let tries = 1; ; tries++) {
      await replica.cli("CLUSTER", "FAILOVER")
      try {
        return await ownerOtherThan(slot, old, MANUAL_FAILOVER_MS)
      } catch (error) {
        if (tries === MANUAL_FAILOVER_TRIES) throw error
      }
    }
  }

  const replicasForSlot = async (slot: number): Promise<ClusterNode[]> => {
    const owner = await nodeForSlot(slot)
    const view = await viewOf(owner)
    const ids = new Set(view.filter((node) => node.primaryId === owner.id).map((node) => node.id))
    return answering().filter((node) => ids.has(node.id))
  }

  const replicaInSync = async (slot: number): Promise<ClusterNode | undefined> => {
    for (const replica of await replicasForSlot(slot)) if (await isInSync(replica)) return replica
    return undefined
  }

  const settled = async (): Promise<void> => {
    const isSettled = async (): Promise<boolean> => {
      const alive = answering()
      const pictures = await Promise.all(alive.map((node) => pictureOf(node, alive)))
      return pictures.every((picture) => picture !== undefined && picture === pictures[0])
    }
    await eventually(isSettled, {
      within: SETTLE_WITHIN_MS,
      every: 25,
      what: "the cluster is whole and in sync",
    })
  }

  return {
    nodes,
    url: `redis+cluster://${nodes.map(({ host, port }) => `${host}:${port}`).join(",")}`,
    nodeForSlot,
    replicasForSlot,
    ownerOtherThan: (slot, node) => ownerOtherThan(slot, node),
    settled,
    failover,
    async killPrimary(slot) {
      const victim = await nodeForSlot(slot)
      await victim.kill()
      return victim
    },
    async moveSlot(slot, to, hooks = {}) {
      const from = await nodeForSlot(slot)
      if (from === to) return
      await moveSlot(slot, from, to, hooks)
      await ownerChange(slot, from)
    },
    stop: () => stopAll(nodes),
  }
}

/** Replication and slot ownership as one node reports them. `undefined` while the node does not serve or is not in sync. */
async function pictureOf(node: ClusterNode, alive: readonly ClusterNode[]): Promise<string | undefined> {
  const [info, view, inSync] = await Promise.all([node.cli("CLUSTER", "INFO"), viewOf(node), isInSync(node)])
  const serves = String(info).includes("cluster_state:ok")
  if (!inSync || !serves || healthyCount(view) !== alive.length) return undefined
  const known = view.filter(({ id }) => alive.some((other) => other.id === id))
  const lines = known.map(({ id, primaryId, slots }) => `${id} ${primaryId ?? "-"} ${slots.join(" ")}`)
  return lines.sort().join("\n")
}

/** Whether a replica has its primary's data; a primary always has its own. */
async function isInSync(node: ClusterNode): Promise<boolean> {
  const role = await node.cli("ROLE")
  return Array.isArray(role) && (role[0] === "master" || role[3] === "connected")
}
