// The rule set in Redis: one hash for the set in force, one list for those before it, in one slot of a Cluster.

import { SluiceError } from "../../errors.js"
import { withDeadline } from "../../stores/fallback/deadline.js"
import { StoreFailure } from "../../stores/fallback/store-failure.js"
import type { RedisConnection } from "../../stores/redis/client.js"
import { failureOf, isNoScript } from "../../stores/redis/failure.js"
import { encodeKey } from "../../stores/redis/keys.js"
import { SAVE, SAVE_DIGEST } from "./save-script.js"
import type { RuleSetRevision } from "./source.js"

export interface StoredSet {
  /** See `mark`. */
  readonly mark: string
  /** As it was written; anyone may have written it. */
  readonly text: string
}

/** There is something, and a rule source has not written it. */
const FOREIGN = "?"

export class StoredRules {
  readonly channel: string
  readonly #connection: RedisConnection
  readonly #deadlineMs: number
  readonly #max: number
  readonly #current: string
  readonly #history: string

  constructor(connection: RedisConnection, name: string, max: number, deadlineMs: number) {
    this.#connection = connection
    this.#max = max
    this.#deadlineMs = deadlineMs
    const tag = `s1:{rules:${encodeKey(name)}}`
    this.#current = `${tag}:current`
    this.#history = `${tag}:history`
    this.channel = `${tag}:changed`
  }

  /** A few bytes that differ when the set does. Empty when there is none. */
  async mark(): Promise<string> {
    return markOf(await this.#fields("revision", "etag"))
  }

  async read(): Promise<StoredSet | undefined> {
    const fields = await this.#fields("revision", "etag", "set")
    const mark = markOf(fields)
    return mark === "" ? undefined : { mark, text: fields?.[2] ?? "" }
  }

  /** Puts a set in force if `seen` is still what is there. False when it is not. */
  async replace(seen: string, next: RuleSetRevision): Promise<boolean> {
    const { revision, etag } = next
    const args = [seen, String(revision), etag, JSON.stringify(next), String(this.#max), this.channel]
    const rest = ["2", this.#current, this.#history, ...args]
    try {
      return Number(await this.#send(["EVALSHA", SAVE_DIGEST, ...rest])) === 1
    } catch (error) {
      if (!isNoScript(error)) throw unavailable(error)
    }
    return Number(await this.#sendOrThrow(["EVAL", SAVE, ...rest])) === 1
  }

  /** The sets as they were written, the newest first. */
  async history(): Promise<string[]> {
    const sets = (await this.#sendOrThrow(["LRANGE", this.#history, "0", "-1"])) as unknown[]
    return sets.map(String)
  }

  /** Undefined when what is there is no hash. */
  async #fields(...names: string[]): Promise<(string | undefined)[] | undefined> {
    try {
      const reply = (await this.#send(["HMGET", this.#current, ...names])) as (Buffer | string | null)[]
      return reply.map((value) => value?.toString())
    } catch (error) {
      if (failureOf(error).kind === "wrong-type") return undefined
      throw unavailable(error)
    }
  }

  async #sendOrThrow(args: string[]): Promise<unknown> {
    try {
      return await this.#send(args)
    } catch (error) {
      throw unavailable(error)
    }
  }

  async #send(args: string[]): Promise<unknown> {
    const askedAt = performance.now()
    return await withDeadline(async () => {
      await this.#connection.ready()
      // Nobody waits for it any more: a set saved now would surprise whoever was told that it was not.
      if (performance.now() - askedAt > this.#deadlineMs)
        throw new StoreFailure("connection", "connected too late")
      return await this.#connection.send(this.#current, args)
    }, this.#deadlineMs)
  }
}

/** The mark that a revision has once it is in Redis. */
export function markFor({ revision, etag }: RuleSetRevision): string {
  return `${revision} ${etag}`
}

function markOf(fields: (string | undefined)[] | undefined): string {
  if (fields === undefined) return FOREIGN
  const [revision, etag] = fields
  // A hash without both is as good as none: that is all that can be told of it without asking twice.
  return revision === undefined && etag === undefined ? "" : `${revision ?? ""} ${etag ?? ""}`
}

function unavailable(error: unknown): SluiceError {
  const failure = failureOf(error)
  const doubt = failure.ambiguous ? "; what was being saved may be in force all the same" : ""
  return new SluiceError("RULES_UNAVAILABLE", {
    place: "redisRules",
    expected: `Redis must answer: ${failure.message}${doubt}`,
    cause: failure,
  })
}
