// Reads and rewrites large rule sets for rule sources, in a thread of its own.

import { editRuleText, readRevision, ruleSetEtag } from "sluice/internal/rules"
import { parseRuleSet, type RuleSourceWork } from "sluice/rules"
import { LIBRARY, RuleThread, TooMuchWork } from "./rule-thread.js"

/** Shorter texts are handled on the main thread: that takes a few milliseconds, and starting a thread takes 100. */
const MIN_CHARACTERS_FOR_THREAD = 8_192

/**
 * Bodies from the network are checked in another thread, so no client can delay the reading of rules. A rule file may be larger
 * than a body, so this thread has more time and memory.
 */
const thread = new RuleThread({ deadlineMs: 60_000, memoryMb: 1_024 })

/** The work that the service's rule sources hand over. */
export const ruleWork: RuleSourceWork = {
  async readText(text, name) {
    const here = () => {
      const document = parseRuleSet(text, { name })
      return { document, etag: ruleSetEtag(document) }
    }
    if (isShort(text.length)) return here()
    const read = thread.run({ kind: "set", text }, { name })
    return await read.then(
      ({ json, etag }) => ({ document: JSON.parse(json as string), etag: etag as string }),
      orElse(here),
    )
  },

  async editText(text, before, after) {
    const here = () => editRuleText(text, before, after)
    const written = JSON.stringify(after)
    if (isShort(text.length + written.length)) return here()
    const job = { kind: "edit", text, before: JSON.stringify(before), after: written } as const
    return await thread.run(job).then((edited) => edited.text as string, orElse(here))
  },

  async readRevision(text, name) {
    const here = () => readRevision(text, name)
    if (isShort(text.length)) return here()
    const read = thread.run({ kind: "revision", text, name })
    return await read.then(({ json }) => Object.freeze(JSON.parse(json as string)), orElse(here))
  },
}

/** Does the work on the main thread if it is too much for the thread. */
export function orElse<Result>(here: () => Result): (error: unknown) => Result {
  return (error) => {
    if (error instanceof TooMuchWork) return here()
    throw error
  }
}

/** Whether a text is short enough to handle on the main thread. */
export function isShort(characters: number): boolean {
  return characters <= MIN_CHARACTERS_FOR_THREAD || LIBRARY === undefined
}
