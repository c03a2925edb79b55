// What a change of rules amounts to, in a line.

import type { RuleSetChanges } from "sluice/rules"

export function isEmpty({ added, removed, changed, sections }: RuleSetChanges): boolean {
  return added.length + removed.length + changed.length + sections.length === 0
}

/** `1 added (api), 2 changed (login, search)` */
export function changesText({ added, removed, changed, sections }: RuleSetChanges): string {
  const parts = (
    [
      [added, "added"],
      [removed, "removed"],
      [changed, "changed"],
    ] as const
  ).flatMap(([ids, what]) => (ids.length === 0 ? [] : [`${ids.length} ${what} (${listed(ids)})`]))
  if (sections.length > 0) parts.push(`${sections.map(sectionText).join(", ")} changed`)
  return parts.length === 0 ? "nothing changed" : parts.join(", ")
}

const MOST_LISTED = 5

function listed(ids: readonly string[]): string {
  const more = ids.length - MOST_LISTED
  return more > 0 ? `${ids.slice(0, MOST_LISTED).join(", ")} and ${more} more` : ids.join(", ")
}

/** A set whose rules only stand in another order says so in `sections`. */
function sectionText(section: string): string {
  return section === "rules" ? "order of rules" : section
}
