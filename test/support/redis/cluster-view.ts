import type { RedisServer } from "./single.js"

export interface ClusterNode extends RedisServer {
  /** The node's id in the cluster; it survives restarts. */
  readonly id: string
}

/** One line of CLUSTER NODES: what a node reports about itself or another node. */
export interface NodeView {
  readonly id: string
  readonly port: number
  readonly flags: readonly string[]
  /** The id of the primary it follows; `undefined` for a primary. */
  readonly primaryId: string | undefined
  readonly connected: boolean
  /** Inclusive ranges of slots. */
  readonly slots: readonly (readonly [number, number])[]
}

export function parseClusterNodes(text: string): NodeView[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map(parseLine)
}

/** Returns a node's view of the cluster. */
export async function viewOf(node: ClusterNode): Promise<NodeView[]> {
  return parseClusterNodes(String(await node.cli("CLUSTER", "NODES")))
}

export function ownsSlot(view: NodeView, slot: number): boolean {
  return view.slots.some(([first, last]) => first <= slot && slot <= last)
}

/** The number of healthy nodes in a view: linked, not in handshake, and not suspected of failure. */
export function healthyCount(views: readonly NodeView[]): number {
  return views.filter(isHealthy).length
}

const TROUBLE = ["handshake", "noaddr", "fail", "fail?"]

function isHealthy({ flags, connected }: NodeView): boolean {
  return connected && !flags.some((flag) => TROUBLE.includes(flag))
}

// <id> <ip:port@bus[,hostname]> <flags> <primary or -> <ping> <pong> <epoch> <link state> <slot> …
function parseLine(line: string): NodeView {
  const [id = "", address = "", flags = "", primaryId = "-", , , , link = "", ...slots] = line.split(" ")
  return {
    id,
    port: Number(/:(\d+)(?:@|$)/.exec(address.split(",")[0] ?? "")?.[1]),
    flags: flags.split(","),
    primaryId: primaryId === "-" ? undefined : primaryId,
    connected: link === "connected",
    // Redis lists a slot that is moving as [slot->-id] or [slot-<-id]. The slot still belongs to its range.
    slots: slots.filter((range) => !range.startsWith("[")).map(parseRange),
  }
}

function parseRange(range: string): readonly [number, number] {
  const [first, last] = range.split("-")
  return [Number(first), Number(last ?? first)]
}
