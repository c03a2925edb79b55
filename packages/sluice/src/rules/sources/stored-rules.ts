// The rule set in Redis: a hash with the set in force and a list with its history, in one slot of a Cluster.

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
  /** The revision as text. Anybody may have written it. */
  readonly text: string
}

/** The mark of a key that is no hash: no rule source has written it. */
const UNKNOWN = "?"

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

  /** A short text that changes with the set. Empty if there is no set. */
  async mark(): Promise<string> {
    return markOf(await this.#fields("revision", "etag"))
  }

  async read(): Promise<StoredSet | undefined> {
    const fields = await this.#fields("revision", "etag", "set")
    const mark = markOf(fields)
    return mark === "" ? undefined : { mark, text: fields?.[2] ?? "" }
  }

  /** Saves a set if the mark in Redis is still `seen`. False if it is another one. */
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

  /** The revisions as text, newest first. */
  async history(): Promise<string[]> {
    const sets = (await this.#sendOrThrow(["LRANGE", this.#history, "0", "-1"])) as unknown[]
    return sets.map(String)
  }

  /** Undefined if the key is no hash. */
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
    return await withDeadline(async (hasExpired) => {
      await this.#connection.ready()
      // The caller has been told that the save failed: do not save now.
      if (hasExpired()) throw new StoreFailure("connection", "connected too late")
      return await this.#connection.send(this.#current, args)
    }, this.#deadlineMs)
  }
}

/** The mark of a revision that is in Redis. */
export function markFor({ revision, etag }: RuleSetRevision): string {
  return `${revision} ${etag}`
}

function markOf(fields: (string | undefined)[] | undefined): string {
  if (fields === undefined) return UNKNOWN
  const [revision, etag] = fields
  // A hash without both fields counts as no set.
  return revision === undefined && etag === undefined ? "" : `${revision ?? ""} ${etag ?? ""}`
}

function unavailable(error: unknown): SluiceError {
  const failure = failureOf(error)
  const doubt = failure.ambiguous ? "; the rule set may have been saved nevertheless" : ""
  return new SluiceError("RULES_UNAVAILABLE", {
    place: "redisRules",
    expected: `Redis must answer: ${failure.message}${doubt}`,
    cause: failure,
  })
}
