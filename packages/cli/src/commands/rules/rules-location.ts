// Where a rule set is kept, for commands that read or change it: in a file or in a running service.

import type { RevisionInfo, RuleSetDocument } from "sluice/rules"

/** A rule set at the time it was read. A change is based on it, and fails if the rules have changed since. */
export interface RulesSnapshot {
  readonly document: RuleSetDocument
  /** The YAML text; for a file, with its comments. */
  readonly text: string
  /** The ETag that a service answered. */
  readonly etag?: string
  /** The revision of a service. */
  readonly revision?: number
}

export interface SavedRules {
  readonly revision: number
  readonly document: RuleSetDocument
}

export interface RulesLocation {
  /** The path of the file or the address of the service. */
  readonly name: string
  read(): Promise<RulesSnapshot>
  /** Fails if the rules have changed since `base` was read. */
  replace(base: RulesSnapshot, next: RuleSetDocument, comment: string | undefined): Promise<SavedRules>
  /** The revisions, the newest first. */
  history(): Promise<readonly RevisionInfo[]>
  revision(number: number): Promise<RuleSetDocument>
  /** Fails if the rules have changed since `base` was read. */
  rollback(base: RulesSnapshot, to: number, comment: string | undefined): Promise<SavedRules>
}
