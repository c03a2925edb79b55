// Where a rule set lives: in an object, a file or Redis. All of them hand out whole, checked sets with a revision, so that
// each decision belongs to exactly one of them.

import type { SluiceError } from "../../errors.js"
import type { RuleSetRevision, RuleSource } from "../engine/rule-source.js"
import type { RuleSetDocument } from "../language/schema.js"
import type { RuleSetChanges } from "./diff.js"

export type { RuleSetRevision, RuleSource }

/** A line of the history: a revision without its content, and what it changed. */
export interface RevisionInfo {
  readonly revision: number
  readonly etag: string
  readonly changedAt: number
  readonly changedBy: string
  readonly comment?: string
  /** Against the revision before it. All of its rules are `added` in the first. */
  readonly changes: RuleSetChanges
}

export interface SaveOptions {
  /** The revision or etag that the edit was made on. Without it, whatever is in force is replaced. */
  readonly expected?: number | string
  /** Who saves. */
  readonly by: string
  readonly comment?: string
  /**
   * The caller has checked the set with `checkRuleSet`, perhaps in a thread, and nobody will change it any more. A source with
   * guard rails of its own checks it again.
   */
  readonly isChecked?: boolean
  /** The digest of a set that is checked, from `ruleSetEtag`. Default: the source works it out. */
  readonly etag?: string
}

export interface EditableRuleSource extends RuleSource {
  /**
   * Puts a rule set in force, whole or not at all. Rejects with `RULES_INVALID` and every problem in it, or with
   * `RULES_CONFLICT` when somebody else has saved since `expected`. A set equal to the current one is no new revision.
   */
  save(document: unknown, options: SaveOptions): Promise<RuleSetRevision>
  /** The newest first, as many as are kept. */
  revisions(): Promise<RevisionInfo[]>
  /** A revision with its content, or undefined if it never was or is no longer kept. */
  revision(revision: number): Promise<RuleSetRevision | undefined>
  /** Puts the content of an earlier revision in force again, as a new revision. */
  rollback(to: number, options: SaveOptions): Promise<RuleSetRevision>
}

/** What happens to a source besides new revisions. `current` keeps serving through all of them. */
export type RuleSourceEvent =
  /** Something that is no valid rule set, with every mistake in it; or a copy on disk that cannot be read. */
  | { readonly kind: "refused"; readonly error: SluiceError }
  /** The file cannot be read, or Redis does not answer. */
  | { readonly kind: "unavailable"; readonly error: SluiceError }
  /** Redis answers and has no rule set any more, or an older one: it was flushed, or came back without its data. */
  | { readonly kind: "lost" }
  /** What Redis had lost was written back. */
  | { readonly kind: "restored"; readonly revision: number }
  /** In step again after any of these. */
  | { readonly kind: "recovered" }

/**
 * What a source has to do that takes long for a large set: 256 KB of YAML take up to seconds to change. By default it does it
 * at once, where it runs; a service has it done in a thread.
 */
export interface RuleSourceWork {
  /** `parseRuleSet` and `ruleSetEtag`, on the text of a file. */
  readText(text: string, name: string): Promise<{ readonly document: RuleSetDocument; readonly etag: string }>
  /** `editRuleText`. */
  editText(text: string, before: RuleSetDocument, after: RuleSetDocument): Promise<string>
  /** `readRevision`: the content of a revision that was read from text, which must be valid. */
  readRevision(text: string, name: string): Promise<RuleSetRevision>
}

export interface RuleSourceHooks {
  /** Told of everything but new revisions. Without it, what is wrong becomes a process warning. */
  onEvent?: (event: RuleSourceEvent) => void
}
