// Somebody else saved while this one was editing: who it was, and what is in force now.

import type { RevisionInfo, RuleSetChanges, RuleSetDocument } from "sluice/rules"
import { ask } from "../../../service/api.js"

export interface Conflict {
  readonly document: RuleSetDocument
  readonly etag: string
  readonly revision: number
  /** Who saved last, and what they said. */
  readonly who: string
  readonly comment: string | undefined
  /** What all of them changed. */
  readonly changes: RuleSetChanges
}

/** What is in force now, and what was changed since a revision. */
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

/** The changes of several revisions in one, each name once. */
export function changesOf(revisions: readonly Pick<RevisionInfo, "changes">[]): RuleSetChanges {
  const all = (kind: keyof RuleSetChanges) => [...new Set(revisions.flatMap(({ changes }) => changes[kind]))]
  return { added: all("added"), removed: all("removed"), changed: all("changed"), sections: all("sections") }
}
