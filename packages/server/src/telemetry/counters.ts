import type { SettlementResult } from "../core.js"
import { Tally, type TallyReport } from "./tally.js"

/** The counts of one second, in the form that workers send to the primary. */
export interface CountersReport {
  readonly tally: TallyReport
  readonly failures: readonly (readonly [kind: string, count: number])[]
  /** Failures after which it is unknown whether the store has charged. */
  readonly ambiguous: number
  /** Reservations that were made, and calls to settle them by their result. */
  readonly reservations: readonly (readonly [what: ReservationCount, count: number])[]
}

export type ReservationCount = "made" | SettlementResult

interface Counts {
  readonly tally: Tally
  readonly failures: Map<string, number>
  ambiguous: number
  readonly reservations: Map<ReservationCount, number>
}

/** The counts of this second, and of all seconds before. */
export class Counters {
  readonly #maxRules: number
  readonly #before: Counts
  #second: Counts

  constructor(maxRules: number) {
    this.#maxRules = maxRules
    this.#before = this.#none()
    this.#second = this.#none()
  }

  /** Counts the decisions of this second. */
  get tally(): Tally {
    return this.#second.tally
  }

  /** Counts a failure. True if it is the first of its kind in this second. */
  failed(kind: string, isAmbiguous: boolean): boolean {
    const count = this.#second.failures.get(kind) ?? 0
    this.#second.failures.set(kind, count + 1)
    if (isAmbiguous) this.#second.ambiguous++
    return count === 0
  }

  reservation(what: ReservationCount): void {
    increase(this.#second.reservations, what, 1)
  }

  /** Adds the counts of one second of another process. */
  merge(report: CountersReport): void {
    add(this.#second, report)
  }

  /** Ends the second and returns its counts. */
  take(): { readonly tally: Tally; readonly report: CountersReport } {
    const { tally } = this.#second
    const report = reportOf(this.#second)
    add(this.#before, report)
    this.#second = this.#none()
    return { tally, report }
  }

  /** A copy of all counts up to now, this second included. */
  all(): Readonly<Counts> {
    const all = this.#none()
    for (const counts of [this.#before, this.#second]) add(all, reportOf(counts))
    return all
  }

  #none(): Counts {
    return { tally: new Tally(this.#maxRules), failures: new Map(), ambiguous: 0, reservations: new Map() }
  }
}

function reportOf({ tally, failures, ambiguous, reservations }: Counts): CountersReport {
  return { tally: tally.report(), failures: [...failures], ambiguous, reservations: [...reservations] }
}

function add(to: Counts, { tally, failures, ambiguous, reservations }: CountersReport): void {
  to.tally.merge(tally)
  for (const [kind, count] of failures) increase(to.failures, kind, count)
  to.ambiguous += ambiguous
  for (const [what, count] of reservations) increase(to.reservations, what, count)
}

function increase<Key>(counts: Map<Key, number>, key: Key, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}
