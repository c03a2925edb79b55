// The blocks that penalties began in this second, for the metric, the live events and the log.

import type { BegunRuleBlock, RuleDecision } from "sluice/rules"
import type { Log } from "./log.js"

/** The blocks of one second, as events show them. Times are whole milliseconds, rounded up. */
export interface BlocksReport {
  /** How many began. */
  readonly total: number
  /** At most 100 of them. */
  readonly blocks: readonly BegunRuleBlock[]
}

/** A flood of clients may begin any number of blocks. */
const MAX_BLOCKS = 100

export class BegunBlocks {
  readonly #log: Log
  readonly #loggedPerSecond: number
  #total = 0
  #blocks: BegunRuleBlock[] = []

  /** Logs each block, but at most so many per second. */
  constructor(log: Log, loggedPerSecond: number) {
    this.#log = log
    this.#loggedPerSecond = loggedPerSecond
  }

  decided({ begunBlocks = [] }: RuleDecision): void {
    for (const block of begunBlocks) {
      const { rule, limit, key, denials, earlier } = block
      const blockedForMs = Math.ceil(block.blockedForMs)
      const shown = { rule, key, limit, denials, earlier, blockedForMs }
      if (this.#total++ < this.#loggedPerSecond) this.#log.info(shown, "a penalty blocked a key")
      if (this.#blocks.length < MAX_BLOCKS)
        this.#blocks.push({ ...shown, blockedUntil: Math.ceil(block.blockedUntil) })
    }
  }

  /** Adds the blocks of a worker, which has logged them. */
  merge({ total, blocks }: BlocksReport): void {
    this.#total += total
    this.#blocks.push(...blocks.slice(0, MAX_BLOCKS - this.#blocks.length))
  }

  /** Ends the second. */
  take(): BlocksReport {
    const report = { total: this.#total, blocks: this.#blocks }
    this.#total = 0
    this.#blocks = []
    return report
  }
}
