import { SluiceError } from "../../errors.js"
import { notify, warn } from "../../notify.js"
import { DEFAULT_PREFIX } from "../../stores/store.js"
import { checkRuleSet, parseRuleSet } from "../language/parse.js"
import { finish, finishInSlices, type Steps } from "../language/steps.js"
import { checkNeedsNoSecret, isSource, type RuleEngineOptions } from "./engine-options.js"
import { RuleSet } from "./rule-set.js"
import type { RuleSetRevision } from "./rule-source.js"

type NumberedSet = Pick<RuleSetRevision, "document" | "revision">

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
  /** Ends the subscription to the source. */
  unsubscribe: () => void = () => {}

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
    this.unsubscribe()
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

/** Compiles the rules of an engine, and follows them if they come from a source. Throws if the `first` set is wrong. */
export function followRules(
  options: RuleEngineOptions,
  isStoreInMemory: boolean,
  use: (set: RuleSet) => void,
): { first: RuleSet; follower: SetFollower } {
  const { rules, guardRails, secret } = options
  const prefix = options.prefix ?? DEFAULT_PREFIX
  function* compile({ document, revision }: NumberedSet): Steps<RuleSet> {
    const set = yield* RuleSet.compile(document, revision, prefix)
    if (secret === undefined) checkNeedsNoSecret(set, isStoreInMemory)
    return set
  }
  const follower = new SetFollower({ compile, use, onRefused: options.onRefused ?? warn })
  if (isSource(rules)) {
    const first = finish(compile(rules.current))
    follower.unsubscribe = rules.subscribe((next) => follower.follow(next))
    return { first, follower }
  }
  const parsing = { guardRails }
  const document = typeof rules === "string" ? parseRuleSet(rules, parsing) : checkRuleSet(rules, parsing)
  return { first: finish(compile({ document, revision: 1 })), follower }
}

/** An error that is no SluiceError is a bug of Sluice: it becomes a process warning. */
function rethrow(error: unknown): never {
  throw error
}
