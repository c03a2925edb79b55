// What rule sources (an object, a file, Redis) have in common. A source hands out whole, checked sets with a revision.

import type { SluiceError } from "../../errors.js"
import type { RuleSetRevision, RuleSource } from "../engine/rule-source.js"
import type { RuleSetDocument } from "../language/schema.js"
import type { RuleSetChanges } from "./diff.js"

export type { RuleSetRevision, RuleSource }

/** An entry of the history: a revision without its content, and what it changed. */
export interface RevisionInfo extends Omit<RuleSetRevision, "document"> {
  /** Compared with the previous revision. In the first one, all rules are `added`. */
  readonly changes: RuleSetChanges
}

export interface SaveOptions {
  /** The revision or etag that the edit was made on. Without it, the save replaces whatever is in force. */
  readonly expected?: number | string
  /** Who saves. */
  readonly by: string
  readonly comment?: string
  /**
   * Promises that the caller has checked the set with `checkRuleSet`, perhaps in a thread, and does not change it any more. A
   * source with guard rails checks it again.
   */
  readonly isChecked?: boolean
  /** The etag of a set that is checked. Default: the source computes it. */
  readonly etag?: string
}

export interface EditableRuleSource extends RuleSource {
  /**
   * Puts a rule set in force, completely or not at all. Rejects with `RULES_INVALID` and every problem of the set, or with
   * `RULES_CONFLICT` if somebody else has saved since `expected`. A set equal to the current one makes no new revision.
   */
  save(document: unknown, options: SaveOptions): Promise<RuleSetRevision>
  /** The revisions that are kept, newest first. */
  revisions(): Promise<RevisionInfo[]>
  /** A revision with its content, or undefined if it does not exist or is no longer kept. */
  revision(revision: number): Promise<RuleSetRevision | undefined>
  /** Puts the content of an earlier revision in force, as a new revision. */
  rollback(to: number, options: SaveOptions): Promise<RuleSetRevision>
}

/** What happens to a source besides new revisions. `current` stays in force in all of these cases. */
export type RuleSourceEvent =
  /** A rule set is invalid, with every problem in it; or a copy on disk cannot be read. */
  | { readonly kind: "refused"; readonly error: SluiceError }
  /** The file cannot be read, or Redis does not answer. */
  | { readonly kind: "unavailable"; readonly error: SluiceError }
  /** Redis has no rule set any more, or an older one: it was flushed, or restarted without its data. */
  | { readonly kind: "lost" }
  /** The source has written the lost revision back to Redis. */
  | { readonly kind: "restored"; readonly revision: number }
  /** The source follows the file or Redis again, after any of these. */
  | { readonly kind: "recovered" }

/**
 * The work of a source that takes long for a large set: editing 256 KB of YAML takes up to seconds. By default the source
 * does it in the calling thread; the service does it in another one.
 */
export interface RuleSourceWork {
  /** Does what `parseRuleSet` does with the text of a file, and computes the etag. */
  readText(text: string, name: string): Promise<{ readonly document: RuleSetDocument; readonly etag: string }>
  /** Returns the text of a file with the content `after` instead of `before`. Comments stay. */
  editText(text: string, before: RuleSetDocument, after: RuleSetDocument): Promise<string>
  /** Reads a revision from text and checks its rules. */
  readRevision(text: string, name: string): Promise<RuleSetRevision>
}

export interface RuleSourceHooks {
  /** Called for every event. Without it, problems become process warnings. */
  onEvent?: (event: RuleSourceEvent) => void
}
