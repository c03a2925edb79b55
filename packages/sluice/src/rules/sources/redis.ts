import type { Clock } from "../../clock.js"
import { MAX_TIMEOUT_MS, systemClock } from "../../clock.js"
import type { Duration } from "../../duration.js"
import { parseDuration } from "../../duration.js"
import { checkFields, checkType } from "../../options.js"
import { connectionOf, type UserClient } from "../../stores/redis/client.js"
import type { GuardRails } from "../language/guard-rails.js"
import type { RuleSetDocument } from "../language/schema.js"
import { finishInSlices, type Steps } from "../language/steps.js"
import {
  checkExpected,
  checkedCopy,
  checkHistory,
  checkHooks,
  checkSave,
  conflict,
  DEFAULT_HISTORY,
  infosOf,
  revisionToRestore,
} from "./edit.js"
import { LastGood } from "./last-good.js"
import { RedisFollower } from "./redis-follower.js"
import { etagOf, makeRevision, parseRevision } from "./revision.js"
import { SerialQueue } from "./serial-queue.js"
import type {
  EditableRuleSource,
  RevisionInfo,
  RuleSetRevision,
  RuleSourceHooks,
  RuleSourceWork,
  SaveOptions,
} from "./source.js"
import { StoredRules } from "./stored-rules.js"
import { subscribe } from "./subscription.js"

export interface RedisRulesOptions extends RuleSourceHooks {
  /** The name of the rule set: one Redis can hold several. Default: `"default"`. */
  name?: string
  /** The set to write to an empty Redis. If several instances start together, one of them writes it. */
  initial?: unknown
  /** The path of a copy of the newest set on disk. An instance starts from it if Redis does not answer. */
  lastGood?: string
  guardRails?: GuardRails
  /** How many revisions are kept. Default: 100. */
  history?: number
  /** How often to look for changes, in case an announcement is lost. Default: `"2s"`. */
  poll?: Duration
  /** How long Redis may take to answer. Default: `"1s"`. */
  deadline?: Duration
  /** The clock of `changedAt`. Default: the system clock. */
  clock?: Clock
  /** Reads and checks sets that another instance has saved elsewhere. Default: in this thread. */
  work?: RuleSourceWork
}

const FIELDS = [
  "name",
  "initial",
  "lastGood",
  "guardRails",
  "history",
  "poll",
  "deadline",
  "clock",
  "onEvent",
  "work",
]
/** An attempt fails if another instance saves at the same moment. After this many failures in a row the save is a conflict. */
const MAX_ROUNDS = 50

/**
 * Rules in Redis that a fleet shares. A save is a compare-and-set, and every instance follows it within a second. The client
 * is yours, ioredis or node-redis. The source opens a second connection from it to subscribe to changes, and closes that one.
 */
export async function redisRules(
  client: UserClient,
  options: RedisRulesOptions = {},
): Promise<EditableRuleSource> {
  const isText = (value: unknown) => typeof value === "string" && value !== ""
  checkFields(options, FIELDS, "redisRules")
  checkType(options.name, "redisRules.name", "a text that is not empty", isText)
  checkType(options.lastGood, "redisRules.lastGood", "the path of a file", isText)
  checkHistory(options.history, "redisRules")
  checkHooks(options, "redisRules")
  const pollMs = parseDuration(options.poll ?? "2s", "redisRules.poll")
  const deadlineMs = parseDuration(options.deadline ?? "1s", "redisRules.deadline")
  const { name = "default", history = DEFAULT_HISTORY } = options
  const stored = new StoredRules(connectionOf(client, "redisRules"), name, history, deadlineMs)
  const rules = new RedisRules(stored, options)
  await rules.open(client, Math.max(1, pollMs), deadlineMs)
  return rules
}

class RedisRules implements EditableRuleSource {
  readonly #stored: StoredRules
  readonly #options: RedisRulesOptions
  readonly #clock: Clock
  readonly #queue = new SerialQueue()
  readonly #follower: RedisFollower
  #closed = false
  /** A look at Redis is already in the queue. */
  #looking = false
  #timer: NodeJS.Timeout | undefined
  #unsubscribe = () => {}

  constructor(stored: StoredRules, options: RedisRulesOptions) {
    this.#stored = stored
    this.#options = options
    this.#clock = options.clock ?? systemClock
    const parse = this.#parseOptions()
    this.#follower = new RedisFollower(stored, new LastGood(options.lastGood), parse, options, options.work)
  }

  async open(client: UserClient, pollMs: number, deadlineMs: number): Promise<void> {
    const { initial } = this.#options
    const seed =
      initial === undefined
        ? undefined
        : makeRevision(1, this.#check(initial), { by: "initial" }, this.#clock.now())
    await this.#follower.start(seed, deadlineMs)
    this.#unsubscribe = subscribe(client, this.#stored.channel, () => this.#look())
    this.#poll(pollMs)
  }

  get current(): RuleSetRevision {
    return this.#follower.inForce.current
  }

  get stale(): boolean {
    return this.#follower.inForce.stale
  }

  subscribe(listener: (next: RuleSetRevision) => void): () => void {
    return this.#follower.inForce.subscribe(listener)
  }

  async save(document: unknown, options: SaveOptions): Promise<RuleSetRevision> {
    checkSave(options, "save")
    return await this.#put(this.#check(document, options.isChecked), options, "save")
  }

  async revisions(): Promise<RevisionInfo[]> {
    return await finishInSlices(infosOf(await this.#history()))
  }

  async revision(revision: number): Promise<RuleSetRevision | undefined> {
    if (revision === this.current.revision) return this.current
    return (await this.#history()).find((kept) => kept.revision === revision)
  }

  async rollback(to: number, options: SaveOptions): Promise<RuleSetRevision> {
    checkSave(options, "rollback")
    const { document } = revisionToRestore(await this.revision(to), to, "rollback")
    return await this.#put(this.#check(document), options, "rollback")
  }

  async reload(): Promise<void> {
    await this.#queue.run(async () => {
      if (!this.#closed) await this.#follower.look()
    })
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#unsubscribe()
    await this.#queue.idle()
  }

  async #put(document: RuleSetDocument, options: SaveOptions, place: string): Promise<RuleSetRevision> {
    const etag = options.etag ?? etagOf(document)
    return await this.#queue.run(async () => {
      for (let round = 0; round < MAX_ROUNDS; round++) {
        await this.#follower.catchUp()
        checkExpected(this.current, options, place)
        if (etag === this.current.etag && !this.stale) return this.current
        const saved = { ...options, etag }
        const next = makeRevision(this.current.revision + 1, document, saved, this.#clock.now())
        if (await this.#follower.replace(next)) return next
      }
      throw conflict(this.current, options.expected, place)
    })
  }

  /** Oldest first. If Redis has lost data and a number was given twice, the revision that was written last counts. */
  async #history(): Promise<RuleSetRevision[]> {
    return await finishInSlices(revisionsIn(await this.#stored.history()))
  }

  #look(): void {
    if (this.#looking || this.#closed) return
    this.#looking = true
    void this.#queue.run(async () => {
      this.#looking = false
      if (!this.#closed) await this.#follower.look()
    })
  }

  #poll(everyMs: number): void {
    if (this.#closed) return
    // With jitter, so that the instances of a fleet do not poll at the same time.
    const ms = Math.min(everyMs * (0.75 + Math.random() * 0.25), MAX_TIMEOUT_MS)
    this.#timer = setTimeout(() => {
      this.#look()
      this.#poll(everyMs)
    }, ms).unref()
  }

  #check(document: unknown, isChecked = false): RuleSetDocument {
    return checkedCopy(document, this.#options.guardRails, isChecked)
  }

  #parseOptions() {
    const { guardRails } = this.#options
    return guardRails === undefined ? {} : { guardRails }
  }
}

function* revisionsIn(newestFirst: readonly string[]): Steps<RuleSetRevision[]> {
  const kept = new Map<number, RuleSetRevision>()
  for (const text of newestFirst.toReversed()) {
    const revision = parseRevision(text)
    if (revision !== undefined) kept.set(revision.revision, revision)
    yield
  }
  return [...kept.values()].sort((a, b) => a.revision - b.revision)
}
