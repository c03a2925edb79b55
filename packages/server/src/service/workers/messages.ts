// The messages between the primary and its workers.

import type { Charge, Settlement } from "sluice"
import type { SavedPolicy } from "sluice/internal"
import type { RuleSetRevision } from "sluice/rules"
import type { Config } from "../../config/schema.js"
import type { WatchReport } from "../../telemetry/hub.js"
import type { FailedListen } from "../serving/start-errors.js"

export type StoreOperation =
  | "check"
  | "decide"
  | "charge"
  | "refund"
  | "settle"
  | "release"
  | "extend"
  | "reset"

/** A charge in a message. `policy` is an index into the policies of the batch, because most charges share a few. */
export type WireCharge = readonly [
  namespace: string,
  key: string,
  policy: number,
  cost: number,
  chargedAt: number | undefined,
  hold: Charge["hold"],
  /** The name of the namespace of a limit. */
  penalizes: string | undefined,
  /** Only of `settle`. */
  correction: Settlement["correction"] | undefined,
]

export interface WireCall {
  readonly operation: StoreOperation
  readonly charges: readonly WireCharge[]
  readonly at: number | undefined
}

/** The calls that a worker made in one turn of its event loop, in order. */
export interface StoreBatch {
  readonly type: "store"
  readonly id: number
  readonly policies: readonly SavedPolicy[]
  readonly calls: readonly WireCall[]
}

export type FromWorker =
  /** The worker is loaded and waits for `start`. */
  | { readonly type: "hello" }
  | { readonly type: "ready"; readonly addresses: Readonly<Record<string, string>> }
  /** The worker cannot start. `expected` says that the message explains a mistake of the user. */
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
  /** `rules` is a revision as JSON: copying one text to each worker costs less than copying the objects. */
  | { readonly type: "rules"; readonly rules: string; readonly stale: boolean }
  | { readonly type: "results"; readonly id: number; readonly results: readonly WireResult[] }
  | { readonly type: "follow"; readonly config: Config }
  | { readonly type: "drain" }

/** The outcome of a call, nothing for a call without one, or the reason why the call failed. */
export interface WireResult {
  readonly value?: unknown
  readonly error?: string
}
