import type { Policy, Verdict } from "../../algorithms/algorithm.js"
import { EMPTY_STATE, never, newVerdict } from "../../algorithms/algorithm.js"
import { isBlock } from "../../algorithms/block.js"
import { microsOf } from "../../call-options.js"
import type { Clock } from "../../clock.js"
import { systemMicros } from "../../clock.js"
import { SluiceError } from "../../errors.js"
import { checkFields, checkOneOf, checkType, hasMethods } from "../../options.js"
import type { Charge, Check, Degraded, Namespace, Outcome, SingleVerdict, SyncStore } from "../store.js"
import { KeyHash } from "./key-hash.js"
import type { Snapshot } from "./snapshot.js"
import type { Table } from "./table.js"
import { Tables } from "./tables.js"

export interface MemoryStoreOptions {
  /** The most keys held at once. Default: 1,000,000, which take about 40 MB. */
  maxKeys?: number
  /** The answer for a new key when every key held is more than half used. Default: `"deny"`. */
  onFull?: "deny" | "allow"
  /** Where the counters are saved on `close` and loaded from at the start: `fileSnapshot(path)`. Default: nowhere. */
  snapshot?: Snapshot
  /** Told of a snapshot that could not be used; the store then starts empty. Default: a process warning. */
  onWarning?: (warning: SluiceError) => void
  clock?: Clock
}

export interface MemoryStoreStats {
  keys: number
  bytes: number
  /** Keys dropped to make room for new ones. */
  evicted: number
  /** Decisions on a new key that found no room. */
  refused: number
}

const TIDY_EVERY_MS = 1_000
/** How soon a client that found no room may come back, in µs. Nobody can know; a second is polite. */
const FULL_RETRY = 1_000_000

/** Counters in the memory of this process: bounded, exact, without a timer per key. */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return new MemoryStore(options)
}

export class MemoryStore implements SyncStore {
  readonly #now: () => number
  readonly #onFull: Degraded & ("deny" | "allow")
  readonly #snapshot: Snapshot | undefined
  #tables: Tables
  readonly #hash: KeyHash
  #timer: ReturnType<typeof setInterval> | undefined
  #closed = false
  #refused = 0
  readonly #verdict: SingleVerdict = { ...newVerdict(), now: 0, degraded: undefined }

  constructor(options: MemoryStoreOptions) {
    checkFields(options, ["maxKeys", "onFull", "snapshot", "onWarning", "clock"], "memoryStore")
    checkType(
      options.maxKeys,
      "memoryStore.maxKeys",
      "an integer ≥ 1",
      (n) => Number.isInteger(n) && (n as number) >= 1,
    )
    checkOneOf(options.onFull, ["deny", "allow"], "memoryStore.onFull")
    checkType(options.snapshot, "memoryStore.snapshot", "a fileSnapshot", hasMethods("read", "write"))
    checkType(options.onWarning, "memoryStore.onWarning", "a function", (v) => typeof v === "function")
    checkType(options.clock, "memoryStore.clock", "a clock with now()", hasMethods("now"))
    const { clock } = options
    this.#now = clock === undefined ? systemMicros : () => microsOf(clock.now())
    this.#onFull = options.onFull ?? "deny"
    this.#snapshot = options.snapshot
    this.#tables = new Tables(options.maxKeys ?? 1_000_000)
    const key =
      options.snapshot === undefined ? undefined : this.#load(options.snapshot, options.onWarning ?? warn)
    this.#hash = new KeyHash(key)
  }

  get stats(): MemoryStoreStats {
    const { keys, bytes, evicted } = this.#tables
    return { keys, bytes, evicted, refused: this.#refused }
  }

  /** For byte-keys.ts. */
  get keyHash(): KeyHash {
    return this.#hash
  }

  checkOneSync(namespace: Namespace, key: string, policy: Policy, cost: number, at?: number): SingleVerdict {
    const now = at ?? this.#now()
    const verdict = this.#verdict
    const hash = this.#hash
    verdict.now = now
    if (key !== hash.text) hash.hash(key)
    const table = namespace.handle as Table | undefined
    if (
      table?.owner !== this.#tables ||
      table.low !== hash.low ||
      table.high !== hash.high ||
      table.policy !== policy
    ) {
      return this.#checkHashed(namespace, policy, cost, now)
    }
    table.algorithm.check(policy, table.cells, table.at, cost, now, verdict)
    return verdict
  }

  /** The verdict on the key hashed last. */
  #checkHashed(namespace: Namespace, policy: Policy, cost: number, now: number): SingleVerdict {
    const verdict = this.#verdict
    const table = this.#tables.open(namespace, policy)
    if (table.check(this.#hash, policy, cost, now, verdict)) return verdict
    this.#assertOpen()
    policy.algorithm.decide(policy, EMPTY_STATE, 0, cost, now, verdict)
    if (!verdict.allowed || cost === 0) return verdict
    if (this.#roomFor(1, now)) {
      this.#add(table, policy, cost, now)
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
    if (!outcome.allowed) this.#uncharge(charges, outcome)
    const absent: Charge[] = []
    charges.forEach((charge, i) => {
      const { stale } = verdicts[i] as Verdict
      const isCharged = outcome.allowed && charge.cost > 0
      // A check looks at blocks with a cost of 0, and is the only one that could settle them.
      if (!isCharged && !(stale && (charge.cost > 0 || isBlock(charge.policy)))) return
      const table = this.#find(charge)
      if (table !== undefined) table.charge(charge.policy, outcome.allowed ? charge.cost : 0, now)
      else if (outcome.allowed) absent.push(charge)
    })
    // New keys last: adding one may move the others.
    for (const charge of absent) this.#chargeOne(charge, now)
    return outcome
  }

  #decide(charges: readonly Charge[], at: number | undefined): Outcome {
    this.#assertOpen()
    const now = at ?? this.#now()
    const verdicts = charges.map((charge) => {
      // Two charges on one key are one sum: each alone might fit where both do not.
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

  /** Nothing was charged: what would have been allowed shows the state as it is. */
  #uncharge(charges: readonly Charge[], { now, verdicts }: Outcome): void {
    verdicts.forEach((verdict, i) => {
      const charge = charges[i] as Charge
      if (verdict.allowed && charge.cost > 0) this.#judge(charge, 0, now, verdict)
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
      // A block always gets in: somebody asked for it by name.
      if (this.#find(charge) !== undefined || this.#roomFor(1, now) || isBlock(charge.policy)) {
        this.#chargeOne(charge, now)
      } else {
        this.#refused++
      }
    }
  }

  async refund(charges: readonly Charge[], at?: number): Promise<void> {
    this.#assertOpen()
    const now = at ?? this.#now()
    for (const charge of charges) {
      if (charge.cost > 0) this.#find(charge)?.refund(charge.policy, charge.cost, now)
    }
  }

  async reset(charges: readonly Charge[]): Promise<void> {
    this.#assertOpen()
    for (const charge of charges) this.#find(charge)?.remove()
  }

  mayBlock(namespace: Namespace): boolean {
    const tables = this.#tables
    return tables.blocks > 0 && tables.keysIn(namespace) > 0
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#stopTimer()
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

  /** The table pointed to the charge's state, or undefined when it has none. */
  #find(charge: Charge): Table | undefined {
    const table = this.#tables.open(charge.namespace, charge.policy)
    if (charge.key !== this.#hash.text) this.#hash.hash(charge.key)
    return table.find(this.#hash.low, this.#hash.high) ? table : undefined
  }

  #chargeOne(charge: Charge, now: number): void {
    const table = this.#find(charge)
    if (table !== undefined) table.charge(charge.policy, charge.cost, now)
    else this.#add(this.#tables.open(charge.namespace, charge.policy), charge.policy, charge.cost, now)
  }

  /** Adds the key hashed last. */
  #add(table: Table, policy: Policy, cost: number, now: number): void {
    table.insert(this.#hash.low, this.#hash.high, now, this.#tables.maxKeys)
    table.charge(policy, cost, now)
    if (this.#timer === undefined) this.#startTimer()
  }

  /** Whether every key of a check is there or fits. Again after keys were dropped: they may be of this check. */
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

  #roomFor(keys: number, now: number): boolean {
    return this.#tables.keys + keys <= this.#tables.maxKeys || this.#tables.makeRoom(keys, now)
  }

  #refuse(verdict: Verdict): Degraded {
    if (this.#onFull === "deny") {
      never(verdict, 0, 0)
      verdict.retryAfter = FULL_RETRY
    }
    return this.#onFull
  }

  #startTimer(): void {
    this.#timer = setInterval(() => this.#tidy(), TIDY_EVERY_MS)
    // Not on every runtime; where it exists, the process may end while the timer waits.
    if (typeof this.#timer === "object") this.#timer.unref?.()
  }

  #tidy(): void {
    let now: number
    try {
      now = this.#now()
    } catch {
      // A clock of the user that fails tells every check so. In a timer it would end the process; the next round tries again.
      return
    }
    if (!this.#tables.tidy(now)) this.#stopTimer()
  }

  #stopTimer(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #load(snapshot: Snapshot, onWarning: (warning: SluiceError) => void) {
    try {
      const key = snapshot.read(this.#tables, this.#now())
      if (this.#tables.keys > 0) this.#startTimer()
      return key
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      this.#tables = new Tables(this.#tables.maxKeys)
      // The callback may throw, or be async and reject: then this is a process warning after all.
      new Promise((told) => told(onWarning(error))).catch(() => warn(error))
      return undefined
    }
  }
}

function costOnSameKey(charges: readonly Charge[], { key, namespace }: Charge): number {
  let cost = 0
  for (const other of charges)
    if (other.key === key && other.namespace.name === namespace.name) cost += other.cost
  return cost
}

function warn(warning: SluiceError): void {
  globalThis.process?.emitWarning?.(warning)
}
