// A conflict: somebody else saved while the user was editing.

import type { RevisionInfo, RuleSetChanges, RuleSetDocument } from "sluice/rules"
import { ask } from "../../../service/api.js"

export interface Conflict {
  readonly document: RuleSetDocument
  readonly etag: string
  readonly revision: number
  /** Who saved last. */
  readonly who: string
  readonly comment: string | undefined
  /** All changes since the revision that the user edits. */
  readonly changes: RuleSetChanges
}

/** Loads the current rules, and the changes since a revision. */
export async function loadConflict(since: number): Promise<Conflict> {
  const [rules, revisions] = await Promise.all([
    ask<RuleSetDocument>("GET", "rules"),
    ask<readonly RevisionInfo[]>("GET", "rules/revisions"),
  ])
  const last = revisions.data[0]
  return {
    document: rules.data,
    etag: rules.etag ?? "*",
    revision: last?.revision ?? 0,
    who: last?.changedBy ?? "?",
    comment: last?.comment,
    changes: changesOf(revisions.data.filter(({ revision }) => revision > since)),
  }
}

/** Combines the changes of several revisions. Each name appears once. */
export function changesOf(revisions: readonly Pick<RevisionInfo, "changes">[]): RuleSetChanges {
  const all = (kind: keyof RuleSetChanges) => [...new Set(revisions.flatMap(({ changes }) => changes[kind]))]
  return { added: all("added"), removed: all("removed"), changed: all("changed"), sections: all("sections") }
}
