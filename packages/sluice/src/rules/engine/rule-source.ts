import type { RuleSetDocument } from "../language/schema.js"

/** A rule set with the number under which it is or was in force. */
export interface RuleSetRevision {
  /** 1, 2, 3 …: a later set has a larger number. */
  readonly revision: number
  readonly document: RuleSetDocument
  /** A digest of the content. Equal rules have equal etags, whoever wrote them and in whatever order of fields. */
  readonly etag: string
  /** Milliseconds since 1970. */
  readonly changedAt: number
  /** Who saved it; `"file"` for an edit by hand, `"initial"` for the set that a source started with. */
  readonly changedBy: string
  readonly comment?: string
}

/** Where a rule engine gets its rules from, and hears of changes. */
export interface RuleSource {
  /** The newest valid set. It stays in force when a later one is invalid, and when the file or Redis is not available. */
  readonly current: RuleSetRevision
  /**
   * True while `current` may not be the newest: the file is invalid or missing, or Redis does not answer or has lost the
   * rules. It becomes false again by itself.
   */
  readonly stale: boolean
  /** Calls `listener` once for each revision accepted from now on, in order. Returns a function that ends the subscription. */
  subscribe(listener: (next: RuleSetRevision) => void): () => void
  /** Looks for changes now. A source also follows changes without this call. Resolves when it has looked. */
  reload?(): Promise<void>
  /** Ends the timers, watchers and connections that the source has opened. `current` stays readable. */
  close(): Promise<void>
}
