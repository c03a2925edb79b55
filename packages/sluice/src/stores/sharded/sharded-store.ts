import { SluiceError } from "../../errors.js"
import { checkFields, checkType, hasMethods } from "../../options.js"
import type { BreakerState } from "../fallback/breaker.js"
import type {
  BlockedKeys,
  Charge,
  Check,
  Degraded,
  Namespace,
  Outcome,
  Settled,
  Settlement,
  Store,
  Usage,
} from "../store.js"
import { indexWaves, planWaves } from "../waves.js"
import type { Group } from "./across.js"
import { allDone, checkAcross, decideAcross, groupCharges, settleAcross } from "./across.js"
import { HashRing, VIRTUAL_NODES } from "./hash-ring.js"

export interface ShardedNode {
  /** The name of the node in the whole fleet, usually its host and port. A node with another name is another node. */
  name: string
  store: Store
  /** Its share of the keys, compared with the others. Default: 1. */
  weight?: number
}

export interface ShardedStoreOptions {
  /** Points on the ring of a node of weight 1. The whole fleet must use the same number. Default: 512. */
  virtualNodes?: number
}

const isStore = hasMethods(
  "check",
  "decide",
  "checkMany",
  "charge",
  "refund",
  "settle",
  "reset",
  "mayBlock",
  "close",
)
const MAX_WEIGHT = 100
const MAX_VIRTUAL_NODES = 16_384

/**
 * Creates a store that spreads keys over several independent stores. Consistent hashing of the key selects its node. When a node
 * joins or leaves, only its share of the keys moves; those keys start without charges on their new node.
 *
 * Stores that are passed without a name are named "0", "1", … by position. Pass them in the same order on every instance, and add
 * new ones at the end.
 */
export function shardedStore(
  nodes: readonly ShardedNode[] | readonly Store[],
  options: ShardedStoreOptions = {},
): ShardedStore {
  return new ShardedStore(nodes, options)
}

/**
 * One node decides a check whose charges have the same key, in one round trip. A check over several nodes takes two round trips,
 * and is all-or-nothing as across.ts describes. A failing node affects only the checks on its keys; nodes created by
 * `redisStore` then decide by `onStoreFailure`.
 */
export class ShardedStore implements Store {
  readonly #nodes: readonly ShardedNode[]
  readonly #ring: HashRing
  #closed = false

  constructor(nodes: readonly ShardedNode[] | readonly Store[], options: ShardedStoreOptions) {
    checkFields(options, ["virtualNodes"], "shardedStore")
    checkType(
      options.virtualNodes,
      "shardedStore.virtualNodes",
      `an integer from 1 to ${MAX_VIRTUAL_NODES}`,
      (n) => Number.isInteger(n) && (n as number) >= 1 && (n as number) <= MAX_VIRTUAL_NODES,
    )
    this.#nodes = readNodes(nodes)
    this.#ring = new HashRing(this.#nodes, options.virtualNodes ?? VIRTUAL_NODES)
  }

  /** The name of the node that has the key. */
  nodeOf(key: string): string {
    return (this.#nodes[this.#ring.locate(key)] as ShardedNode).name
  }

  async check(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<Outcome> {
    return checkAcross(this.#group(charges), at, onStoreFailure)
  }

  async decide(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<Outcome> {
    return decideAcross(this.#group(charges), at, onStoreFailure)
  }

  /**
   * Sends each node its checks in one call. A check over several nodes waits for earlier checks on the same keys. Checks of
   * unrelated keys may be decided in another order.
   */
  async checkMany(checks: readonly Check[], onStoreFailure?: Degraded): Promise<Outcome[]> {
    this.#assertOpen()
    const outcomes = new Array<Outcome>(checks.length)
    for (const { alone, across } of planWaves(checks, (key) => this.#ring.locate(key))) {
      const batches = Array.from(alone, async ([node, list]) => {
        const batch = list.map((index) => checks[index] as Check)
        const answers = await this.#storeAt(node).checkMany(batch, onStoreFailure)
        list.forEach((index, i) => {
          outcomes[index] = answers[i] as Outcome
        })
      })
      const others = across.map(async (index) => {
        const { charges, at } = checks[index] as Check
        outcomes[index] = await checkAcross(this.#group(charges), at, onStoreFailure)
      })
      await allDone([...batches, ...others])
    }
    return outcomes
  }

  /** A check over several nodes takes two steps, and later checks on its keys must wait for both. */
  wavesOf(checks: readonly Check[]): readonly (readonly number[])[] | undefined {
    return indexWaves(checks, (key) => this.#ring.locate(key))
  }

  async charge(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<void> {
    await this.#onEach(charges, (store, own) => store.charge(own, at, onStoreFailure))
  }

  async refund(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<void> {
    await this.#onEach(charges, (store, own) => store.refund(own, at, onStoreFailure))
  }

  async settle(settlements: readonly Settlement[], at?: number, onStoreFailure?: Degraded): Promise<Settled> {
    return await settleAcross(this.#group(settlements), ({ place, charges }) =>
      place.settle(charges as readonly Settlement[], at, onStoreFailure),
    )
  }

  async release(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<boolean> {
    return await this.#onHolds(charges, (store, own) => store.release?.(own, at, onStoreFailure))
  }

  /** Holds on keys of several nodes are extended node by node. */
  async extend(charges: readonly Charge[], at?: number, onStoreFailure?: Degraded): Promise<boolean> {
    return await this.#onHolds(charges, (store, own) => store.extend?.(own, at, onStoreFailure))
  }

  async #onHolds(
    charges: readonly Charge[],
    call: (store: Store, own: readonly Charge[]) => Promise<boolean> | undefined,
  ): Promise<boolean> {
    let areHeld = true
    await this.#onEach(charges, async (store, own) => {
      if (!(await call(store, own))) areHeld = false
    })
    return areHeld
  }

  async reset(charges: readonly Charge[], onStoreFailure?: Degraded): Promise<void> {
    await this.#onEach(charges, (store, own) => store.reset(own, onStoreFailure))
  }

  async usage(charges: readonly Charge[], at?: number): Promise<readonly Usage[] | undefined> {
    const found = await Promise.all(
      charges.map(async (charge) => {
        return (await this.#storeAt(this.#ring.locate(charge.key)).usage?.([charge], at))?.[0]
      }),
    )
    return found.every((usage) => usage !== undefined) ? found : undefined
  }

  async blocked(prefix: string, max: number, at?: number): Promise<BlockedKeys | undefined> {
    const lists = await Promise.all(this.#nodes.map(({ store }) => store.blocked?.(prefix, max, at)))
    if (lists.every((list) => list === undefined)) return undefined
    const keys = lists.flatMap((list) => list?.keys ?? []).sort((a, b) => b.until - a.until)
    const isComplete = lists.every((list) => list?.isComplete === true) && keys.length <= max
    return { keys: keys.slice(0, max), isComplete }
  }

  mayBlock(namespace: Namespace): boolean {
    return this.#nodes.some(({ store }) => store.mayBlock(namespace))
  }

  /** The largest number that any node knows, because a node that was away may have missed some instances. */
  get instances(): number {
    return Math.max(...this.#nodes.map(({ store }) => store.instances ?? 1))
  }

  /** The states of the breakers of all nodes. */
  get breakers(): BreakerState[] {
    return this.#nodes.flatMap(({ store }) => (store as { breakers?: BreakerState[] }).breakers ?? [])
  }

  /** Closes every node, even if some fail to close. */
  async close(): Promise<void> {
    this.#closed = true
    const results = await Promise.allSettled(this.#nodes.map(async ({ store }) => store.close()))
    const errors = results.flatMap((result, i) =>
      result.status === "rejected" ? [{ name: this.#nodes[i]?.name, reason: result.reason as unknown }] : [],
    )
    if (errors.length === 1) throw errors[0]?.reason
    if (errors.length > 1) {
      throw new AggregateError(
        errors.map(({ reason }) => reason),
        `shardedStore: ${errors.map(({ name }) => name).join(", ")} failed to close`,
      )
    }
  }

  /** Calls every node that has one of the charges, even if some calls fail. */
  async #onEach(
    charges: readonly Charge[],
    call: (store: Store, own: readonly Charge[]) => Promise<void>,
  ): Promise<void> {
    await allDone(this.#group(charges).map(async (group) => call(group.place, group.charges)))
  }

  #group(charges: readonly Charge[]): Group<Store>[] {
    this.#assertOpen()
    const first = charges[0]
    // The usual case: several limits on one key. A check without charges may go to any node.
    if (first === undefined || charges.every((charge) => charge.key === first.key)) {
      const store = this.#storeAt(first === undefined ? 0 : this.#ring.locate(first.key))
      return [{ place: store, charges, positions: [...charges.keys()] }]
    }
    return groupCharges(charges, (charge) => this.#storeAt(this.#ring.locate(charge.key)))
  }

  #storeAt(node: number): Store {
    return (this.#nodes[node] as ShardedNode).store
  }

  #assertOpen(): void {
    if (this.#closed) throw new SluiceError("STORE_CLOSED", { place: "shardedStore", expected: "was closed" })
  }
}

function readNodes(nodes: unknown): ShardedNode[] {
  if (!Array.isArray(nodes)) {
    throw new SluiceError("OPTION_TYPE", {
      place: "shardedStore.nodes",
      expected: "must be an array of stores or of { name, store }",
      found: nodes,
    })
  }
  if (nodes.length === 0) {
    throw new SluiceError("OPTION_MISSING", {
      place: "shardedStore.nodes",
      expected: "needs at least one node",
    })
  }
  const named = Array.from(nodes, (node: unknown, i) => {
    return isStore(node)
      ? { name: String(i), store: node as Store }
      : readNode(node, `shardedStore.nodes[${i}]`)
  })
  named.forEach((node, i) => {
    const place = `shardedStore.nodes[${i}]`
    const before = named.slice(0, i)
    if (before.some(({ name }) => name === node.name)) {
      throw new SluiceError("OPTION_CONFLICT", {
        place: `${place}.name`,
        expected: "must be the name of one node only",
        found: node.name,
      })
    }
    if (before.some(({ store }) => store === node.store)) {
      throw new SluiceError("OPTION_CONFLICT", {
        place: `${place}.store`,
        expected: "must not be the store of another node",
      })
    }
  })
  return named
}

function readNode(node: unknown, place: string): ShardedNode {
  checkFields(node, ["name", "store", "weight"], place)
  const { name, store, weight } = node as ShardedNode
  for (const [field, value] of Object.entries({ name, store })) {
    if (value === undefined) {
      throw new SluiceError("OPTION_MISSING", { place: `${place}.${field}`, expected: "is required" })
    }
  }
  checkType(name, `${place}.name`, "a string that is not empty", (v) => typeof v === "string" && v !== "")
  checkType(store, `${place}.store`, "a store", isStore)
  checkType(
    weight,
    `${place}.weight`,
    `a number above 0 and up to ${MAX_WEIGHT}`,
    (v) => typeof v === "number" && v > 0 && v <= MAX_WEIGHT,
  )
  return { name, store, weight: weight ?? 1 }
}
