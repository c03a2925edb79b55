// Work on rule sets that may be large, kept off the main thread.

import { editRuleText, readRevision, ruleSetEtag } from "sluice/internal/rules"
import { parseRuleSet, type RuleSourceWork } from "sluice/rules"
import { LIBRARY, RuleThread, TooMuchWork } from "./rule-thread.js"

/** So much is done at once: it takes a few milliseconds, and a thread takes a tenth of a second to start. */
const FEW_CHARACTERS = 8_192

/**
 * Not the thread that checks what comes in by the network: nobody can keep the rules from being followed by sending more. A
 * file, or what others have saved, may be larger than a body, and takes as long as it takes.
 */
const thread = new RuleThread({ deadlineMs: 60_000, memoryMb: 1_024 })

/** For the sources that the service follows. */
export const ruleWork: RuleSourceWork = {
  async readText(text, name) {
    const here = () => {
      const document = parseRuleSet(text, { name })
      return { document, etag: ruleSetEtag(document) }
    }
    if (isLittle(text.length)) return here()
    const read = thread.run({ kind: "set", text }, { name })
    return await read.then(
      ({ json, etag }) => ({ document: JSON.parse(json as string), etag: etag as string }),
      orElse(here),
    )
  },

  async editText(text, before, after) {
    const here = () => editRuleText(text, before, after)
    const written = JSON.stringify(after)
    if (isLittle(text.length + written.length)) return here()
    const job = { kind: "edit", text, before: JSON.stringify(before), after: written } as const
    return await thread.run(job).then((edited) => edited.text as string, orElse(here))
  },

  async readRevision(text, name) {
    const here = () => readRevision(text, name)
    if (isLittle(text.length)) return here()
    const read = thread.run({ kind: "revision", text, name })
    return await read.then(({ json }) => Object.freeze(JSON.parse(json as string)), orElse(here))
  },
}

/** Work that is too much for a thread is done here: it has to be done. */
export function orElse<Result>(here: () => Result): (error: unknown) => Result {
  return (error) => {
    if (error instanceof TooMuchWork) return here()
    throw error
  }
}

/** Whether so much text is not worth a thread. */
export function isLittle(characters: number): boolean {
  return characters <= FEW_CHARACTERS || LIBRARY === undefined
}
