// What the primary and its workers say to each other.

import type { SavedPolicy } from "sluice/internal"
import type { RuleSetRevision } from "sluice/rules"
import type { Config } from "../../config/schema.js"
import type { WatchReport } from "../../telemetry/index.js"
import type { FailedListen } from "../listen-error.js"

export type StoreOperation = "check" | "decide" | "charge" | "refund" | "reset"

/** A charge on the wire. `policy` is an index into the batch's list: most charges of a batch share a few. */
export type WireCharge = readonly [namespace: string, key: string, policy: number, cost: number]

export interface WireCall {
  readonly operation: StoreOperation
  readonly charges: readonly WireCharge[]
  readonly at: number | undefined
}

/** The calls of one tick of a worker, in their order. */
export interface StoreBatch {
  readonly type: "store"
  readonly id: number
  readonly policies: readonly SavedPolicy[]
  readonly calls: readonly WireCall[]
}

export type FromWorker =
  /** Loaded, and waiting to be told what to do. */
  | { readonly type: "hello" }
  | { readonly type: "ready"; readonly addresses: Readonly<Record<string, string>> }
  /** It cannot start; in words for people if the mistake is theirs. */
  | {
      readonly type: "failed"
      readonly message: string
      readonly expected: boolean
      readonly listen?: FailedListen | undefined
    }
  | { readonly type: "watch"; readonly report: WatchReport }
  | StoreBatch

export type FromPrimary =
  | {
      readonly type: "start"
      readonly config: Config
      readonly secret: string | undefined
      readonly rules: RuleSetRevision
    }
  /** `rules` is a revision as JSON: copying the text for each worker takes less than copying the objects. */
  | { readonly type: "rules"; readonly rules: string; readonly stale: boolean }
  | { readonly type: "results"; readonly id: number; readonly results: readonly WireResult[] }
  | { readonly type: "follow"; readonly config: Config }
  | { readonly type: "drain" }

/** An outcome, or nothing for calls that have none, or why there is none. */
export interface WireResult {
  readonly value?: unknown
  readonly error?: string
}
