// A change of rules as every command that makes one does it: shown, made unless it is only tried, and told.

import { diffRuleSets, type RuleSetDocument } from "sluice/rules"
import type { ExitCode } from "../command.js"
import type { Terminal } from "../terminal.js"
import { changesText, isEmpty } from "./changes.js"
import { diffText } from "./rule-diff.js"
import type { Held, RuleHome, Saved } from "./rule-home.js"

export interface Change {
  readonly home: RuleHome
  readonly held: Held
  readonly next: RuleSetDocument
  readonly options: { readonly dryRun: boolean; readonly json: boolean }
  readonly terminal: Terminal
  make(): Promise<Saved>
}

export async function makeChange({ home, held, next, options, terminal, make }: Change): Promise<ExitCode> {
  const changes = diffRuleSets(held.document, next)
  const same = isEmpty(changes)
  if (!options.json && !same) terminal.note(diffText(held.document, next, terminal.noteStyle))
  const saved = options.dryRun || same ? undefined : await make()
  const revision = saved?.revision ?? held.revision
  if (options.json) {
    terminal.json({ changed: saved !== undefined, ...(revision === undefined ? {} : { revision }), changes })
    return 0
  }
  const what = changesText(changes)
  if (saved !== undefined) terminal.print(`${home.name}: revision ${saved.revision}: ${what}`)
  else
    terminal.print(
      same ? `${home.name}: ${what}` : `${home.name}: would be ${what}; nothing was changed (--dry-run)`,
    )
  return 0
}
