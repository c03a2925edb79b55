// Work on rule sets that may be large, kept off the main thread.

import {
  editRuleText,
  formatRuleSet,
  type RuleSetDocument,
  type RuleSetRevision,
  type RuleSourceWork,
  readRevision,
} from "sluice/rules"
import { LIBRARY, RuleThread } from "./rule-thread.js"

/** So much is done at once: it takes a few milliseconds, and a thread takes a tenth of a second to start. */
const FEW_CHARACTERS = 8_192

/** Not the thread that checks what comes in by the network: nobody can keep the rules from being followed by sending more. */
const thread = new RuleThread()

/** For the sources that the service follows. */
export const ruleWork: RuleSourceWork = {
  async editText(text, before, after) {
    const written = JSON.stringify(after)
    if (isLittle(text.length + written.length)) return editRuleText(text, before, after)
    const edited = await thread.run({
      kind: "edit",
      text,
      before: JSON.stringify(before),
      after: written,
    })
    return edited.text as string
  },

  async readRevision(text, name) {
    if (isLittle(text.length)) return readRevision(text, name)
    const { json } = await thread.run({ kind: "revision", text, name })
    return Object.freeze(JSON.parse(json as string) as RuleSetRevision)
  },
}

/** A rule set as YAML. */
export async function formatInThread(document: RuleSetDocument): Promise<string> {
  const text = JSON.stringify(document)
  if (isLittle(text.length)) return formatRuleSet(document)
  return (await thread.run({ kind: "format", text })).text as string
}

function isLittle(characters: number): boolean {
  return characters <= FEW_CHARACTERS || LIBRARY === undefined
}
