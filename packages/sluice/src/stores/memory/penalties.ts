import type { Verdict } from "../../algorithms/algorithm.js"
import { penalize } from "../../algorithms/block.js"
import type { BegunBlock, Charge, Outcome } from "../store.js"
import { penalizedIndex } from "../store.js"
import type { Table } from "./table.js"

/** What penalties need of a store in memory. */
export interface PenalizingStore {
  /** The table of a charge, pointed to the state of its key. A key without a state gets one. Undefined if there is no room. */
  open(charge: Charge): Table | undefined
  /** Writes the state of a charge into its verdict. */
  judge(charge: Charge, verdict: Verdict): void
  /** A block of the key has begun, until this time in microseconds. */
  list(charge: Charge, until: number): void
}

/** Counts the denials of limits whose keys have a penalty. The verdict then shows the block that it may have begun. */
export function penalizeDenials(charges: readonly Charge[], outcome: Outcome, store: PenalizingStore): void {
  const { now, verdicts } = outcome
  const begun: BegunBlock[] = []
  charges.forEach((charge, i) => {
    const { penalty } = charge.policy
    const limit = penalty === undefined ? -1 : penalizedIndex(charges, charge)
    const isDenied = verdicts[limit]?.allowed === false && (charges[limit] as Charge).cost > 0
    if (penalty === undefined || !isDenied) return
    const table = store.open(charge)
    if (table === undefined) return
    const started = penalize(penalty, table.cells, table.at, now)
    if (started !== undefined) {
      begun.push({ ...started, limit })
      store.list(charge, started.until)
    }
    store.judge(charge, verdicts[i] as Verdict)
  })
  if (begun.length > 0) outcome.begun = begun
}
