// A revision as text, in Redis and in the copy on disk. Anyone may have written there, so nothing of it is believed.

import type { ParseOptions } from "../language/parse.js"
import { checkRuleSet } from "../language/parse.js"
import { RuleSetError } from "../language/rule-set-error.js"
import type { RuleSetDocument } from "../language/schema.js"
import { etagOf } from "./etag.js"
import type { RuleSetRevision } from "./source.js"

/** Reads a revision and checks it whole, as if it came from a stranger. */
export function readRevision(text: string, name: string, options: ParseOptions = {}): RuleSetRevision {
  const revision = looseRevision(text)
  if (revision === undefined) {
    const message = "is not what a source of rules has written"
    throw new RuleSetError(name, [{ code: "RULES_SYNTAX", path: "", message }])
  }
  checkRuleSet(revision.document, { ...options, name })
  return Object.freeze({ ...revision, etag: etagOf(revision.document) })
}

/** Reads a revision without a look at its rules: for a history, which is only shown. */
export function looseRevision(text: string): RuleSetRevision | undefined {
  try {
    const { revision, etag, changedAt, changedBy, comment, document } = JSON.parse(text)
    const isRevision =
      Number.isSafeInteger(revision) &&
      revision >= 1 &&
      [etag, changedBy].every((field) => typeof field === "string") &&
      typeof changedAt === "number" &&
      Array.isArray((document as RuleSetDocument).rules)
    if (!isRevision) return undefined
    const base = { revision, document, etag, changedAt, changedBy }
    return typeof comment === "string" ? { ...base, comment } : base
  } catch {
    return undefined
  }
}
