import { SluiceError } from "../../errors.js"
import { notify } from "../../notify.js"
import { finishInSlices, type Steps } from "../language/steps.js"
import type { RuleSet } from "./rule-set.js"
import type { RuleSetRevision } from "./rule-source.js"

interface SetFollowerOptions {
  readonly compile: (revision: RuleSetRevision) => Steps<RuleSet>
  /** Puts a set in force. */
  readonly use: (set: RuleSet) => void
  readonly onRefused: (error: SluiceError) => void
}

/**
 * Compiles the revisions of a rule source one after the other and puts each in force as a whole. A large set is compiled in
 * slices while the previous set decides. A small set is in force when `follow` returns.
 */
export class SetFollower {
  readonly #options: SetFollowerOptions
  readonly #waiting: RuleSetRevision[] = []
  #isCompiling = false
  #isClosed = false
  #done: Promise<void> = Promise.resolve()

  constructor(options: SetFollowerOptions) {
    this.#options = options
  }

  follow(revision: RuleSetRevision): void {
    this.#waiting.push(revision)
    if (!this.#isCompiling) this.#done = this.#compileAll()
  }

  /** Resolves once every revision followed so far is in force, or was refused. */
  async settled(): Promise<void> {
    while (this.#isCompiling) await this.#done
  }

  close(): void {
    this.#isClosed = true
    this.#waiting.length = 0
  }

  async #compileAll(): Promise<void> {
    this.#isCompiling = true
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      try {
        const compiled = finishInSlices(this.#options.compile(next))
        const set = compiled instanceof Promise ? await compiled : compiled
        if (!this.#isClosed) this.#options.use(set)
      } catch (error) {
        notify(error instanceof SluiceError ? this.#options.onRefused : rethrow, error as SluiceError)
      }
    }
    this.#isCompiling = false
  }
}

/** An error that is no SluiceError is a bug of Sluice: it becomes a process warning. */
function rethrow(error: unknown): never {
  throw error
}
