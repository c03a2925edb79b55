import { Tally, type TallyReport } from "./tally.js"

/** What happened in a second, as it travels between processes. */
export interface CountersReport {
  readonly tally: TallyReport
  readonly failures: readonly (readonly [kind: string, count: number])[]
  /** Failures after which nobody knows whether the charge has happened. */
  readonly ambiguous: number
}

interface Counts {
  readonly tally: Tally
  readonly failures: Map<string, number>
  ambiguous: number
}

/** Counts of this second, and of all before it. */
export class Counters {
  readonly #mostRules: number
  readonly #before: Counts
  #second: Counts

  constructor(mostRules: number) {
    this.#mostRules = mostRules
    this.#before = this.#none()
    this.#second = this.#none()
  }

  /** Where decisions of this second are counted. */
  get tally(): Tally {
    return this.#second.tally
  }

  /** Whether it was the first of its kind in this second. */
  failed(kind: string, isAmbiguous: boolean): boolean {
    const count = this.#second.failures.get(kind) ?? 0
    this.#second.failures.set(kind, count + 1)
    if (isAmbiguous) this.#second.ambiguous++
    return count === 0
  }

  /** Adds what another process has counted in a second. */
  merge(report: CountersReport): void {
    add(this.#second, report)
  }

  /** Ends the second. */
  take(): { readonly tally: Tally; readonly report: CountersReport } {
    const { tally, failures, ambiguous } = this.#second
    const report = { tally: tally.report(), failures: [...failures], ambiguous }
    add(this.#before, report)
    this.#second = this.#none()
    return { tally, report }
  }

  /** All up to now. A copy: seconds stay whole however often somebody reads this. */
  all(): Readonly<Counts> {
    const all = this.#none()
    for (const { tally, failures, ambiguous } of [this.#before, this.#second])
      add(all, { tally: tally.report(), failures: [...failures], ambiguous })
    return all
  }

  #none(): Counts {
    return { tally: new Tally(this.#mostRules), failures: new Map(), ambiguous: 0 }
  }
}

function add(to: Counts, { tally, failures, ambiguous }: CountersReport): void {
  to.tally.merge(tally)
  for (const [kind, count] of failures) to.failures.set(kind, (to.failures.get(kind) ?? 0) + count)
  to.ambiguous += ambiguous
}
