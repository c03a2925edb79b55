// Keeps the set in force here in step with the one in Redis.
//
// The larger revision wins. Redis may come back without its data, or with older data after a failover; then an instance
// that has been in step writes back what it serves, so that no accepted set is lost while anyone still has it. Two cases
// are different: another set under the same number (two primaries at once), and a copy from disk, whose age nobody knows.
// There Redis is right, and its set gets a number larger than both.

import { setTimeout as pause } from "node:timers/promises"
import { SluiceError } from "../../errors.js"
import type { ParseOptions } from "../language/parse.js"
import { CurrentRevision } from "./current-revision.js"
import type { LastGood } from "./last-good.js"
import { readRevision } from "./revision.js"
import type { RuleSetRevision, RuleSourceHooks, RuleSourceWork } from "./source.js"
import { markFor, type StoredRules, type StoredSet } from "./stored-rules.js"

const NAME = "the rules in Redis"
const RETRY_MS = 50

export class RedisFollower {
  current!: CurrentRevision
  readonly #stored: StoredRules
  readonly #lastGood: LastGood
  readonly #parse: ParseOptions
  readonly #hooks: RuleSourceHooks
  readonly #work: RuleSourceWork | undefined
  /** What was last seen in Redis and dealt with. */
  #mark = ""
  /** It was dealt with by refusing it. */
  #refused = false
  /** Whether the set served has ever been in Redis, as far as this process knows. */
  #inStep = false

  constructor(
    stored: StoredRules,
    lastGood: LastGood,
    parse: ParseOptions,
    hooks: RuleSourceHooks,
    work: RuleSourceWork | undefined,
  ) {
    this.#work = work
    this.#stored = stored
    this.#lastGood = lastGood
    this.#parse = parse
    this.#hooks = hooks
  }

  /** Finds a first set to serve: in Redis, else on disk, else `seed`. */
  async start(seed: RuleSetRevision | undefined, deadlineMs: number): Promise<void> {
    const copy = this.#copy()
    try {
      const first = await this.#first(copy.revision ?? seed, deadlineMs)
      this.current = new CurrentRevision(first, this.#hooks)
      this.#inStep = true
      this.#mark = markFor(first)
      this.#keepCopy(first)
    } catch (error) {
      if (!(error instanceof SluiceError) || copy.revision === undefined) throw error
      this.current = new CurrentRevision(copy.revision, this.#hooks)
      this.#trouble(error)
    }
    if (copy.error !== undefined) this.current.report({ kind: "refused", error: copy.error })
  }

  /** Looks for a change. Never rejects: what is wrong is told to whoever wants to know. */
  async look(): Promise<void> {
    try {
      await this.catchUp()
    } catch (error) {
      this.#trouble(error as SluiceError)
    }
  }

  /** Gets in step with Redis. Rejects when that does not answer. */
  async catchUp(): Promise<void> {
    if ((await this.#stored.mark()) !== this.#mark) await this.#follow()
    else if (!this.#refused) this.current.recovered()
  }

  async #follow(): Promise<void> {
    const found = await this.#stored.read()
    if (found === undefined) return await this.#restore("")
    let next: RuleSetRevision
    try {
      next = await this.#read(found.text)
    } catch (error) {
      this.#mark = found.mark
      this.#refused = true
      this.#trouble(error as SluiceError)
      return
    }
    const { current } = this.current
    if (next.revision > current.revision) this.#take(next, found.mark)
    else if (next.revision === current.revision && next.etag === current.etag) this.#agree(found.mark)
    else if (next.revision === current.revision || !this.#inStep) await this.#raise(next, found)
    else await this.#restore(found.mark)
  }

  /** Puts a set in force everywhere, if nobody else was faster. */
  async replace(next: RuleSetRevision): Promise<boolean> {
    if (!(await this.#stored.replace(this.#mark, next))) return false
    this.#take(next, markFor(next))
    return true
  }

  /** A set with guard rails is checked here: whoever else checks it does not know them. */
  async #read(text: string): Promise<RuleSetRevision> {
    return this.#work === undefined || this.#parse.guardRails !== undefined
      ? readRevision(text, NAME, this.#parse)
      : await this.#work.readRevision(text, NAME)
  }

  async #first(seed: RuleSetRevision | undefined, deadlineMs: number): Promise<RuleSetRevision> {
    const giveUpAt = performance.now() + deadlineMs
    for (;;) {
      try {
        const found = await this.#stored.read()
        if (found !== undefined) return readRevision(found.text, NAME, this.#parse)
        if (seed === undefined) {
          throw new SluiceError("RULES_UNAVAILABLE", {
            place: "redisRules",
            expected: "there must be rules in Redis, or `initial` to start with",
          })
        }
        if (await this.#stored.replace("", seed)) return seed
      } catch (error) {
        // A client that is still connecting, or a server that is still loading, is given the time of one answer.
        const isAway = error instanceof SluiceError && error.cause !== undefined
        if (!isAway || performance.now() + RETRY_MS > giveUpAt) throw error
        await pause(RETRY_MS)
      }
    }
  }

  /** Writes back what Redis has lost. */
  async #restore(seen: string): Promise<void> {
    const { current } = this.current
    let isDone: boolean
    try {
      isDone = await this.#stored.replace(seen, current)
    } catch (error) {
      this.current.trouble({ kind: "lost" })
      throw error
    }
    // Somebody else was faster, or a replica was asked that lags behind: the next look will tell.
    if (!isDone) return
    this.current.report({ kind: "lost" })
    this.current.report({ kind: "restored", revision: current.revision })
    this.#agree(markFor(current))
  }

  /** Gives a set in Redis a number that nobody has used. */
  async #raise(next: RuleSetRevision, found: StoredSet): Promise<void> {
    const raised = Object.freeze({ ...next, revision: this.current.current.revision + 1 })
    if (await this.#stored.replace(found.mark, raised)) this.#take(raised, markFor(raised))
  }

  #take(next: RuleSetRevision, mark: string): void {
    this.#agree(mark)
    this.#keepCopy(next)
    this.current.accept(next)
  }

  #agree(mark: string): void {
    this.#mark = mark
    this.#refused = false
    this.#inStep = true
    this.current.recovered()
  }

  #copy(): { revision?: RuleSetRevision; error?: SluiceError } {
    try {
      const revision = this.#lastGood.read(this.#parse)
      return revision === undefined ? {} : { revision }
    } catch (error) {
      return { error: error as SluiceError }
    }
  }

  #keepCopy(revision: RuleSetRevision): void {
    try {
      this.#lastGood.write(revision)
    } catch (error) {
      this.current.report({ kind: "unavailable", error: error as SluiceError })
    }
  }

  #trouble(error: SluiceError): void {
    this.current.trouble({ kind: error.code === "RULES_INVALID" ? "refused" : "unavailable", error })
  }
}
