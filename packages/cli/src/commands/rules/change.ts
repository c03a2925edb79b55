// What every command that changes rules does: show the change, make it unless this is a dry run, and report the result.

import { diffRuleSets, type RuleSetChanges, type RuleSetDocument } from "sluice/rules"
import type { ExitCode } from "../../command.js"
import type { Terminal } from "../../terminal/terminal.js"
import { diffText } from "./diff.js"
import type { RulesLocation, RulesSnapshot, SavedRules } from "./rules-location.js"

export interface Change {
  readonly location: RulesLocation
  readonly base: RulesSnapshot
  readonly next: RuleSetDocument
  readonly options: { readonly dryRun: boolean; readonly json: boolean }
  readonly terminal: Terminal
  save(): Promise<SavedRules>
}

export async function makeChange({
  location,
  base,
  next,
  options,
  terminal,
  save,
}: Change): Promise<ExitCode> {
  const changes = diffRuleSets(base.document, next)
  const isSame = isEmpty(changes)
  if (!options.json && !isSame) terminal.note(diffText(base.document, next, terminal.noteStyle))
  const saved = options.dryRun || isSame ? undefined : await save()
  const revision = saved?.revision ?? base.revision
  if (options.json) {
    terminal.json({ changed: saved !== undefined, ...(revision === undefined ? {} : { revision }), changes })
    return 0
  }
  const what = changesText(changes)
  if (saved !== undefined) terminal.print(`${location.name}: revision ${saved.revision}: ${what}`)
  else terminal.print(`${location.name}: ${isSame ? "" : "dry run, nothing saved: "}${what}`)
  return 0
}

export function isEmpty({ added, removed, changed, sections }: RuleSetChanges): boolean {
  return added.length + removed.length + changed.length + sections.length === 0
}

/** A summary of a change in one line: `1 added (api), 2 changed (login, search)`. */
export function changesText({ added, removed, changed, sections }: RuleSetChanges): string {
  const parts = (
    [
      [added, "added"],
      [removed, "removed"],
      [changed, "changed"],
    ] as const
  ).flatMap(([ids, what]) => (ids.length === 0 ? [] : [`${ids.length} ${what} (${idList(ids)})`]))
  if (sections.length > 0) parts.push(`${sections.map(sectionText).join(", ")} changed`)
  return parts.length === 0 ? "nothing changed" : parts.join(", ")
}

const MAX_LISTED = 5

function idList(ids: readonly string[]): string {
  const more = ids.length - MAX_LISTED
  return more > 0 ? `${ids.slice(0, MAX_LISTED).join(", ")} and ${more} more` : ids.join(", ")
}

/** The section "rules" means that only the order of the rules changed. */
function sectionText(section: string): string {
  return section === "rules" ? "order of rules" : section
}
