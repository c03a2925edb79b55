import type { Clock } from "../../clock.js"
import type { SluiceError } from "../../errors.js"
import { checkFields, checkFunction, checkOneOf, checkType, hasMethods } from "../../options.js"
import type { Snapshot } from "./snapshot.js"

export interface MemoryStoreOptions {
  /** The maximum number of keys. Default: 1,000,000, which take about 40 MB. */
  maxKeys?: number
  /** The decision on a new key when the store is full and every key is more than half used. Default: `"deny"`. */
  onFull?: "deny" | "allow"
  /** Where `close` saves the counters, and a new store loads them from: `fileSnapshot(path)`. Default: nowhere. */
  snapshot?: Snapshot
  /** Called if a snapshot cannot be used; the store then starts empty. Default: a process warning. */
  onWarning?: (warning: SluiceError) => void
  clock?: Clock
}

export interface MemoryStoreStats {
  keys: number
  bytes: number
  /** Keys evicted to make room for new ones. */
  evicted: number
  /** Decisions on new keys for which there was no room. */
  refused: number
}

/** Throws at the first option that is wrong. */
export function checkMemoryStoreOptions(options: MemoryStoreOptions): void {
  checkFields(options, ["maxKeys", "onFull", "snapshot", "onWarning", "clock"], "memoryStore")
  checkType(
    options.maxKeys,
    "memoryStore.maxKeys",
    "an integer ≥ 1",
    (n) => Number.isInteger(n) && (n as number) >= 1,
  )
  checkOneOf(options.onFull, ["deny", "allow"], "memoryStore.onFull")
  checkType(options.snapshot, "memoryStore.snapshot", "a fileSnapshot", hasMethods("read", "write"))
  checkFunction(options.onWarning, "memoryStore.onWarning")
  checkType(options.clock, "memoryStore.clock", "a clock with now()", hasMethods("now"))
}
