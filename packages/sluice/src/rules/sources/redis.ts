import { MAX_TIMEOUT_MS } from "../../clock.js"
import type { Duration } from "../../duration.js"
import { parseDuration } from "../../duration.js"
import { checkType, isFilledText } from "../../options.js"
import { connectionOf, type UserClient } from "../../stores/redis/client.js"
import type { RuleSetDocument } from "../language/schema.js"
import { finishInSlices, type Steps } from "../language/steps.js"
import type { CurrentRevision } from "./current-revision.js"
import {
  checkExpected,
  checkedCopy,
  checkSourceOptions,
  conflict,
  EditableSource,
} from "./editable-source.js"
import { type FollowerOptions, RedisFollower } from "./redis-follower.js"
import { etagOf, makeRevision, parseRevision } from "./revision.js"
import { SerialQueue } from "./serial-queue.js"
import type { EditableRuleSource, RuleSetRevision, SaveOptions } from "./source.js"
import { StoredRules } from "./stored-rules.js"
import { subscribe } from "./subscription.js"

export interface RedisRulesOptions extends FollowerOptions {
  /** The name of the rule set: one Redis can hold several. Default: `"default"`. */
  name?: string
  /** The set to write to an empty Redis. If several instances start together, one of them writes it. */
  initial?: unknown
  /** How often to look for changes, in case an announcement is lost. Default: `"2s"`. */
  poll?: Duration
  /** How long Redis may take to answer. Default: `"1s"`. */
  deadline?: Duration
}

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
  checkSourceOptions(options, ["name", "initial", "lastGood", "poll", "deadline", "work"], "redisRules")
  checkType(options.name, "redisRules.name", "a string that is not empty", isFilledText)
  checkType(options.lastGood, "redisRules.lastGood", "the path of a file", isFilledText)
  const pollMs = parseDuration(options.poll ?? "2s", "redisRules.poll")
  const deadlineMs = parseDuration(options.deadline ?? "1s", "redisRules.deadline")
  const rules = new RedisRules(client, options, deadlineMs)
  await rules.open(client, Math.max(1, pollMs), deadlineMs)
  return rules
}

class RedisRules extends EditableSource {
  readonly #stored: StoredRules
  readonly #initial: unknown
  readonly #queue = new SerialQueue()
  readonly #follower: RedisFollower
  #closed = false
  /** A look at Redis is already in the queue. */
  #looking = false
  #timer: NodeJS.Timeout | undefined
  #unsubscribe = () => {}

  constructor(client: UserClient, options: RedisRulesOptions, deadlineMs: number) {
    super(options)
    const { name = "default", initial } = options
    this.#initial = initial
    this.#stored = new StoredRules(connectionOf(client, "redisRules"), name, this.maxRevisions, deadlineMs)
    this.#follower = new RedisFollower(this.#stored, options)
  }

  async open(client: UserClient, pollMs: number, deadlineMs: number): Promise<void> {
    const initial = this.#initial
    const seed =
      initial === undefined
        ? undefined
        : makeRevision(1, checkedCopy(initial, this.guardRails), { by: "initial" }, this.clock.now())
    await this.#follower.start(seed, deadlineMs)
    this.#unsubscribe = subscribe(client, this.#stored.channel, () => this.#look())
    this.#poll(pollMs)
  }

  protected get inForce(): CurrentRevision {
    return this.#follower.inForce
  }

  override async revision(revision: number): Promise<RuleSetRevision | undefined> {
    return revision === this.current.revision ? this.current : await super.revision(revision)
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

  protected async put(
    document: RuleSetDocument,
    options: SaveOptions,
    place: string,
  ): Promise<RuleSetRevision> {
    const etag = options.etag ?? etagOf(document)
    return await this.#queue.run(async () => {
      for (let round = 0; round < MAX_ROUNDS; round++) {
        await this.#follower.catchUp()
        checkExpected(this.current, options, place)
        if (etag === this.current.etag && !this.stale) return this.current
        const saved = { ...options, etag }
        const next = makeRevision(this.current.revision + 1, document, saved, this.clock.now())
        if (await this.#follower.replace(next)) return next
      }
      throw conflict(this.current, options.expected, place)
    })
  }

  /** Oldest first. If Redis has lost data and a number was given twice, the revision that was written last counts. */
  protected async history(): Promise<RuleSetRevision[]> {
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
