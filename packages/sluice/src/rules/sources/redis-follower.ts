// Keeps the set in force in this instance equal to the one in Redis.
//
// The larger revision wins. Redis may restart without its data, or with older data after a failover. Then an instance that
// has followed Redis before writes its set back, so that no accepted set is lost while any instance has it. There are two
// exceptions: another set with the same number (after two primaries at once), and a copy from disk, whose age is unknown.
// In both cases the set in Redis wins, and gets a number larger than both.

import { readFileSync, statSync } from "node:fs"
import { setTimeout as pause } from "node:timers/promises"
import { replaceFile, sweepDrafts } from "../../atomic-file.js"
import { SluiceError } from "../../errors.js"
import type { ParseOptions } from "../language/parse.js"
import { CurrentRevision } from "./current-revision.js"
import type { SourceOptions } from "./editable-source.js"
import { readRevision } from "./revision.js"
import { ioError } from "./rule-file.js"
import type { RuleSetRevision, RuleSourceHooks, RuleSourceWork } from "./source.js"
import { markFor, type StoredRules, type StoredSet } from "./stored-rules.js"

const NAME = "the rules in Redis"
const RETRY_MS = 50

export interface FollowerOptions extends SourceOptions {
  /** The path of a copy of the newest set on disk. An instance starts from it if Redis does not answer. */
  lastGood?: string
  /** Reads and checks sets that another instance has saved elsewhere. Default: in this thread. */
  work?: RuleSourceWork
}

export class RedisFollower {
  inForce!: CurrentRevision
  readonly #stored: StoredRules
  readonly #lastGood: LastGood
  readonly #parse: ParseOptions
  readonly #hooks: RuleSourceHooks
  readonly #work: RuleSourceWork | undefined
  /** The mark of the set in Redis that was handled last. */
  #mark = ""
  /** That set was refused. */
  #refused = false
  /** Whether the set in force is known to have been in Redis. */
  #inStep = false

  constructor(stored: StoredRules, options: FollowerOptions) {
    this.#stored = stored
    this.#lastGood = new LastGood(options.lastGood)
    this.#parse = { guardRails: options.guardRails }
    this.#hooks = options
    this.#work = options.work
  }

  /** Finds the first set: in Redis, else on disk, else `seed`. */
  async start(seed: RuleSetRevision | undefined, deadlineMs: number): Promise<void> {
    const copy = this.#copy()
    try {
      const first = await this.#first(copy.revision ?? seed, deadlineMs)
      this.inForce = new CurrentRevision(first, this.#hooks)
      this.#inStep = true
      this.#mark = markFor(first)
      this.#keepCopy(first)
    } catch (error) {
      if (!(error instanceof SluiceError) || copy.revision === undefined) throw error
      this.inForce = new CurrentRevision(copy.revision, this.#hooks)
      this.#trouble(error)
    }
    if (copy.error !== undefined) this.inForce.report({ kind: "refused", error: copy.error })
  }

  /** Looks for a change. Never rejects: problems are reported as events. */
  async look(): Promise<void> {
    try {
      await this.catchUp()
    } catch (error) {
      this.#trouble(error as SluiceError)
    }
  }

  /** Follows Redis. Rejects if Redis does not answer. */
  async catchUp(): Promise<void> {
    if ((await this.#stored.mark()) !== this.#mark) await this.#follow()
    else if (!this.#refused) this.inForce.recovered()
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
    const { current } = this.inForce
    if (next.revision > current.revision) this.#take(next, found.mark)
    else if (next.revision === current.revision && next.etag === current.etag) this.#agree(found.mark)
    else if (next.revision === current.revision || !this.#inStep) await this.#raise(next, found)
    else await this.#restore(found.mark)
  }

  /** Saves a set to Redis. False if another instance has saved in the meantime. */
  async replace(next: RuleSetRevision): Promise<boolean> {
    if (!(await this.#stored.replace(this.#mark, next))) return false
    this.#take(next, markFor(next))
    return true
  }

  /** With guard rails the set is checked here, because `work` does not know them. */
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
            expected: "needs rules in Redis, or the option `initial`",
          })
        }
        if (await this.#stored.replace("", seed)) return seed
      } catch (error) {
        // The client may still be connecting, or the server loading its data: try again until the deadline.
        const isAway = error instanceof SluiceError && error.cause !== undefined
        if (!isAway || performance.now() + RETRY_MS > giveUpAt) throw error
        await pause(RETRY_MS)
      }
    }
  }

  /** Writes the revision that Redis has lost back to it. */
  async #restore(seen: string): Promise<void> {
    const { current } = this.inForce
    let isDone: boolean
    try {
      isDone = await this.#stored.replace(seen, current)
    } catch (error) {
      this.inForce.trouble({ kind: "lost" })
      throw error
    }
    // Another instance was faster, or a replica lags behind: the next look decides.
    if (!isDone) return
    this.inForce.report({ kind: "lost" })
    this.inForce.report({ kind: "restored", revision: current.revision })
    this.#agree(markFor(current))
  }

  /** Gives the set in Redis a number that no instance has used. */
  async #raise(next: RuleSetRevision, found: StoredSet): Promise<void> {
    const raised = Object.freeze({ ...next, revision: this.inForce.current.revision + 1 })
    if (await this.#stored.replace(found.mark, raised)) this.#take(raised, markFor(raised))
  }

  #take(next: RuleSetRevision, mark: string): void {
    this.#agree(mark)
    this.#keepCopy(next)
    this.inForce.accept(next)
  }

  #agree(mark: string): void {
    this.#mark = mark
    this.#refused = false
    this.#inStep = true
    this.inForce.recovered()
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
      this.inForce.report({ kind: "unavailable", error: error as SluiceError })
    }
  }

  #trouble(error: SluiceError): void {
    this.inForce.trouble({ kind: error.code === "RULES_INVALID" ? "refused" : "unavailable", error })
  }
}

/** A copy of the last accepted set on disk, to start from when Redis does not answer. */
export class LastGood {
  readonly #path: string | undefined

  /** Without a path there is no copy. */
  constructor(path: string | undefined) {
    this.#path = path
    if (path !== undefined) sweepDrafts(path)
  }

  /** Undefined if there is no copy yet. */
  read(options: ParseOptions): RuleSetRevision | undefined {
    if (this.#path === undefined) return undefined
    let text: string
    try {
      if (statSync(this.#path, { throwIfNoEntry: false }) === undefined) return undefined
      text = readFileSync(this.#path, "utf8")
    } catch (cause) {
      throw ioError(this.#path, "read", cause)
    }
    return readRevision(text, this.#path, options)
  }

  write(revision: RuleSetRevision): void {
    if (this.#path === undefined) return
    try {
      replaceFile(this.#path, `${JSON.stringify(revision)}\n`)
    } catch (cause) {
      throw ioError(this.#path, "written", cause)
    }
  }
}
