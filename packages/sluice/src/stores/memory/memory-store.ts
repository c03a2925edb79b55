import type { Policy, Verdict } from "../../algorithms/algorithm.js"
import { EMPTY_STATE, never, newVerdict } from "../../algorithms/algorithm.js"
import { isBlock } from "../../algorithms/block.js"
import { microsOf } from "../../call-options.js"
import { systemMicros } from "../../clock.js"
import { SluiceError } from "../../errors.js"
import { warn } from "../../notify.js"
import type { HoldId } from "../hold-id.js"
import type {
  BlockedKeys,
  Charge,
  Check,
  Degraded,
  Namespace,
  Outcome,
  Settled,
  Settlement,
  SingleVerdict,
  SyncStore,
  Usage,
} from "../store.js"
import { costOnSameKey } from "../store.js"
import type { BlockList } from "./block-list.js"
import { KeyHash } from "./key-hash.js"
import { checkMemoryStoreOptions, type MemoryStoreOptions, type MemoryStoreStats } from "./memory-options.js"
import { penalizeDenials } from "./penalties.js"
import { settleAll } from "./settle.js"
import type { Snapshot } from "./snapshot.js"
import type { Table } from "./table.js"
import { Tables } from "./tables.js"
import { TidyTimer } from "./tidy-timer.js"

/** The wait of a request whose new key found no room, in µs. The real wait is unknown. */
const RETRY_WHEN_FULL = 1_000_000

/** Creates a store in the memory of this process: bounded, exact, without a timer per key. */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return new MemoryStore(options)
}

export class MemoryStore implements SyncStore {
  readonly #now: () => number
  readonly #onFull: Degraded & ("deny" | "allow")
  readonly #snapshot: Snapshot | undefined
  #tables: Tables
  readonly #hash: KeyHash
  readonly #timer: TidyTimer
  #closed = false
  #refused = 0
  /** Loaded with the first block. */
  #blocks: Promise<BlockList> | undefined
  readonly #verdict: SingleVerdict = { ...newVerdict(), now: 0, degraded: undefined }

  constructor(options: MemoryStoreOptions) {
    checkMemoryStoreOptions(options)
    const { clock } = options
    this.#now = clock === undefined ? systemMicros : () => microsOf(clock.now())
    this.#onFull = options.onFull ?? "deny"
    this.#snapshot = options.snapshot
    this.#tables = new Tables(options.maxKeys ?? 1_000_000)
    this.#timer = new TidyTimer(this.#now, (now) => this.#tables.tidy(now))
    const key =
      options.snapshot === undefined ? undefined : this.#load(options.snapshot, options.onWarning ?? warn)
    this.#hash = new KeyHash(key)
  }

  get stats(): MemoryStoreStats {
    const { keys, bytes, evicted } = this.#tables
    return { keys, bytes, evicted, refused: this.#refused }
  }

  checkOneSync(namespace: Namespace, key: string, policy: Policy, cost: number, at?: number): SingleVerdict {
    if (key !== this.#hash.text) this.#hash.hash(key)
    return this.#checkHashed(namespace, policy, cost, at ?? this.#now())
  }

  acquireOneSync({ namespace, key, policy, cost, hold }: Charge, at?: number): SingleVerdict {
    const verdict = this.checkOneSync(namespace, key, policy, cost, at)
    if (cost > 0 && verdict.allowed && verdict.degraded === undefined)
      this.#tables.open(namespace, policy).nameHold(hold)
    return verdict
  }

  /**
   * `checkOneSync` of the key in `bytes` from `start` to `end`, for servers that read keys from a socket. Returns undefined, and
   * decides nothing, if the key is not ASCII.
   */
  checkBytesSync(
    namespace: Namespace,
    bytes: Uint8Array,
    start: number,
    end: number,
    policy: Policy,
    cost: number,
  ): SingleVerdict | undefined {
    if (!this.#hash.hashBytes(bytes, start, end)) return undefined
    return this.#checkHashed(namespace, policy, cost, this.#now())
  }

  /** Decides on the key that was hashed last. */
  #checkHashed(namespace: Namespace, policy: Policy, cost: number, now: number): SingleVerdict {
    const hash = this.#hash
    const verdict = this.#verdict
    verdict.now = now
    const last = namespace.handle as Table | undefined
    // A repeated check of one key needs no lookup. That saves a third of the time of a check on a hot key.
    if (
      last?.owner === this.#tables &&
      last.low === hash.low &&
      last.high === hash.high &&
      last.policy === policy
    ) {
      last.algorithm.check(policy, last.cells, last.at, cost, now, verdict)
      return verdict
    }
    return this.#lookUpAndCheck(namespace, policy, cost, now)
  }

  #lookUpAndCheck(namespace: Namespace, policy: Policy, cost: number, now: number): SingleVerdict {
    const verdict = this.#verdict
    const table = this.#tables.open(namespace, policy)
    if (table.check(this.#hash, policy, cost, now, verdict)) return verdict
    this.#assertOpen()
    policy.algorithm.decide(policy, EMPTY_STATE, 0, cost, now, verdict)
    if (!verdict.allowed || cost === 0) return verdict
    if (this.#tables.makeRoom(1, now)) {
      this.#add(table, now).charge(policy, cost, now)
      return verdict
    }
    this.#refused++
    const degraded = this.#refuse(verdict)
    return { ...verdict, degraded }
  }

  checkSync(charges: readonly Charge[], at?: number): Outcome {
    const outcome = this.#decide(charges, at)
    const { now, verdicts } = outcome
    if (outcome.allowed && !this.#makeRoomFor(charges, now)) {
      for (const verdict of verdicts) outcome.degraded = this.#refuse(verdict)
      this.#refused++
      outcome.allowed = this.#onFull === "allow"
      return outcome
    }
    if (!outcome.allowed) {
      this.#uncharge(charges, outcome)
      this.#penalize(charges, outcome)
    }
    const absent: Charge[] = []
    charges.forEach((charge, i) => {
      const { stale } = verdicts[i] as Verdict
      const isCharged = outcome.allowed && charge.cost > 0
      // A check includes a block with a cost of 0, and only a check can settle it.
      if (!isCharged && !(stale && (charge.cost > 0 || isBlock(charge.policy)))) return
      const table = this.#find(charge)
      if (table === undefined) {
        if (outcome.allowed) absent.push(charge)
        return
      }
      table.charge(charge.policy, outcome.allowed ? charge.cost : 0, now)
      if (isCharged) table.nameHold(charge.hold)
    })
    // New keys come last, because adding one may move the others.
    for (const charge of absent) this.#chargeOne(charge, now)
    return outcome
  }

  #decide(charges: readonly Charge[], at: number | undefined): Outcome {
    this.#assertOpen()
    const now = at ?? this.#now()
    const verdicts = charges.map((charge) => {
      const cost = charge.cost === 0 ? 0 : costOnSameKey(charges, charge)
      return this.#judge(charge, cost, now, newVerdict())
    })
    return { allowed: verdicts.every(({ allowed }) => allowed), now, verdicts, degraded: undefined }
  }

  #judge(charge: Charge, cost: number, now: number, verdict: Verdict): Verdict {
    const { policy } = charge
    const table = this.#find(charge)
    if (table === undefined) policy.algorithm.decide(policy, EMPTY_STATE, 0, cost, now, verdict)
    else table.decide(policy, cost, now, verdict)
    return verdict
  }

  /** After a denial: verdicts that allowed their charge show the state without it. */
  #uncharge(charges: readonly Charge[], { now, verdicts }: Outcome): void {
    verdicts.forEach((verdict, i) => {
      const charge = charges[i] as Charge
      if (verdict.allowed && charge.cost > 0) this.#judge(charge, 0, now, verdict)
    })
  }

  #penalize(charges: readonly Charge[], outcome: Outcome): void {
    if (charges.every(({ policy }) => policy.penalty === undefined)) return
    const { now } = outcome
    penalizeDenials(charges, outcome, {
      open: (charge) =>
        this.#find(charge) ?? (this.#tables.makeRoom(1, now) ? this.#insert(charge, now) : undefined),
      judge: (charge, verdict) => void this.#judge(charge, 0, now, verdict),
      list: (charge, until) => this.#listBlock(charge, until),
    })
  }

  async check(charges: readonly Charge[], at?: number): Promise<Outcome> {
    return this.checkSync(charges, at)
  }

  async decide(charges: readonly Charge[], at?: number): Promise<Outcome> {
    const outcome = this.#decide(charges, at)
    this.#uncharge(charges, outcome)
    return outcome
  }

  async checkMany(checks: readonly Check[]): Promise<Outcome[]> {
    const now = this.#now()
    return checks.map((check) => this.checkSync(check.charges, check.at ?? now))
  }

  async charge(charges: readonly Charge[], at?: number): Promise<void> {
    this.#assertOpen()
    const now = at ?? this.#now()
    for (const charge of charges) {
      if (charge.cost === 0) continue
      // A block is always stored, because an operator asked for it.
      if (this.#find(charge) !== undefined || this.#tables.makeRoom(1, now) || isBlock(charge.policy)) {
        this.#chargeOne(charge, now)
        if (isBlock(charge.policy)) this.#listBlock(charge, now + charge.cost)
      } else {
        this.#refused++
      }
    }
  }

  async refund(charges: readonly Charge[], at?: number): Promise<void> {
    this.#assertOpen()
    const now = at ?? this.#now()
    for (const charge of charges) {
      const { policy, cost, chargedAt, hold } = charge
      if (cost === 0) continue
      if (hold === undefined) this.#find(charge)?.refund(policy, cost, now, chargedAt)
      else this.#release(charge, now)
    }
  }

  async settle(settlements: readonly Settlement[], at?: number): Promise<Settled> {
    this.#assertOpen()
    const now = at ?? this.#now()
    // These functions charge and refund before they return their promises.
    const isSettled = settleAll(settlements, {
      charge: (charge) => void this.charge([charge], now),
      refund: (charge) => void this.refund([charge], now),
      release: (charge) => this.#release(charge, now),
      room: (charge) => this.#judge(charge, 0, now, newVerdict()).remaining,
    })
    return { result: isSettled ? "settled" : "unknown", now }
  }

  async release(charges: readonly Charge[], at?: number): Promise<boolean> {
    return this.releaseSync(charges, at)
  }

  releaseSync(charges: readonly Charge[], at?: number): boolean {
    this.#assertOpen()
    const now = at ?? this.#now()
    let wereHeld = true
    // Every hold is released, also if one before it has ended.
    for (const charge of charges) if (!this.#release(charge, now)) wereHeld = false
    return wereHeld
  }

  #release(charge: Charge, now: number): boolean {
    return this.#find(charge)?.releaseHold(charge.hold as HoldId, now) ?? false
  }

  async extend(charges: readonly Charge[], at?: number): Promise<boolean> {
    this.#assertOpen()
    const now = at ?? this.#now()
    const areHeld = charges.every((charge) => this.#find(charge)?.isHeld(charge.hold as HoldId, now))
    if (!areHeld) return false
    for (const charge of charges) this.#find(charge)?.extendHold(charge.policy, charge.hold as HoldId, now)
    return true
  }

  async reset(charges: readonly Charge[]): Promise<void> {
    this.#assertOpen()
    for (const charge of charges) this.#find(charge)?.remove()
  }

  async usage(charges: readonly Charge[], at?: number): Promise<Usage[]> {
    const { usageIn } = await import("./usage.js")
    this.#assertOpen()
    const now = at ?? this.#now()
    return charges.map((charge) => usageIn(this.#find(charge), charge.policy, now))
  }

  async blocked(prefix: string, max: number, at?: number): Promise<BlockedKeys> {
    const list = await this.#blocks
    this.#assertOpen()
    const now = at ?? this.#now()
    if (list === undefined) return { keys: [], isComplete: true }
    return await list.blocked(prefix, max, now, (charges) => this.usage(charges, now))
  }

  /** The tables know keys by their hash, so blocked keys are listed apart. */
  #listBlock(charge: Charge, until: number): void {
    this.#blocks ??= import("./block-list.js").then(({ BlockList }) => new BlockList())
    void this.#blocks.then((list) => list.add(charge, until))
  }

  mayBlock(namespace: Namespace): boolean {
    const tables = this.#tables
    return tables.blocks > 0 && tables.keysIn(namespace) > 0
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#timer.stop()
    this.#closed = true
    try {
      this.#snapshot?.write(this.#tables, this.#hash.key, this.#now())
    } finally {
      this.#tables = new Tables(this.#tables.maxKeys)
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw new SluiceError("STORE_CLOSED", { place: "memoryStore", expected: "was closed" })
  }

  /** The table of a charge, pointed to the state of its key. Undefined if the key has no state. */
  #find(charge: Charge): Table | undefined {
    const table = this.#tables.open(charge.namespace, charge.policy)
    if (charge.key !== this.#hash.text) this.#hash.hash(charge.key)
    return table.find(this.#hash.low, this.#hash.high) ? table : undefined
  }

  #chargeOne(charge: Charge, now: number): void {
    const table = this.#find(charge)
    const to = table ?? this.#insert(charge, now)
    to.charge(charge.policy, charge.cost, now)
    to.nameHold(charge.hold)
  }

  #insert({ namespace, policy }: Charge, now: number): Table {
    return this.#add(this.#tables.open(namespace, policy), now)
  }

  /** Adds the key that was hashed last, and points the table to its state. */
  #add(table: Table, now: number): Table {
    table.insert(this.#hash.low, this.#hash.high, now, this.#tables.maxKeys)
    this.#timer.start()
    return table
  }

  /** Whether every key of a check exists or fits. Repeats after evictions, because an evicted key may be of this check. */
  #makeRoomFor(charges: readonly Charge[], now: number): boolean {
    for (;;) {
      const missing = new Set<string>()
      for (const charge of charges) {
        if (charge.cost > 0 && this.#find(charge) === undefined)
          missing.add(`${charge.namespace.name}\n${charge.key}`)
      }
      if (this.#tables.keys + missing.size <= this.#tables.maxKeys) return true
      if (!this.#tables.makeRoom(missing.size, now)) return false
    }
  }

  #refuse(verdict: Verdict): Degraded {
    if (this.#onFull === "deny") {
      never(verdict, 0, 0, 0)
      verdict.retryAfter = RETRY_WHEN_FULL
    }
    return this.#onFull
  }

  #load(snapshot: Snapshot, onWarning: (warning: SluiceError) => void) {
    try {
      const key = snapshot.read(this.#tables, this.#now())
      if (this.#tables.keys > 0) this.#timer.start()
      return key
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      this.#tables = new Tables(this.#tables.maxKeys)
      // If the callback throws or rejects, the process warning is emitted instead.
      new Promise((resolve) => resolve(onWarning(error))).catch(() => warn(error))
      return undefined
    }
  }
}
