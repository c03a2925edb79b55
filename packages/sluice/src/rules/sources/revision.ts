// Revisions: how they are made, their digest, and how they are read back from text.

import { createHash } from "node:crypto"
import { checkRuleSet, type ParseOptions } from "../language/parse.js"
import { RuleSetError } from "../language/rule-set-error.js"
import type { RuleSetDocument } from "../language/schema.js"
import type { RuleSetRevision, SaveOptions } from "./source.js"

/** JSON with the fields of every object in alphabetical order, so that equal values give equal text. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join()}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null"
  const fields = Object.entries(value)
    .filter(([, field]) => field !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${canonicalJson(field)}`).join()}}`
}

/** The SHA-256 of the content in hexadecimal. The same content has the same etag in every source and on every machine. */
export function etagOf(document: unknown): string {
  return createHash("sha256").update(canonicalJson(document)).digest("hex")
}

export function makeRevision(
  revision: number,
  document: RuleSetDocument,
  options: SaveOptions,
  changedAt: number,
): RuleSetRevision {
  const { by, comment, etag = etagOf(document) } = options
  const base = { revision, document, etag, changedAt, changedBy: by }
  return Object.freeze(comment === undefined ? base : { ...base, comment })
}

/** Reads a revision from text that anybody may have written, and checks its rules. */
export function readRevision(text: string, name: string, options: ParseOptions = {}): RuleSetRevision {
  const revision = parseRevision(text)
  if (revision === undefined) {
    const message = "is not a revision that a rule source has written"
    throw new RuleSetError(name, [{ code: "RULES_SYNTAX", path: "", message }])
  }
  checkRuleSet(revision.document, { ...options, name })
  return Object.freeze({ ...revision, etag: etagOf(revision.document) })
}

/** Reads a revision without checking its rules, for a history that is only shown. */
export function parseRevision(text: string): RuleSetRevision | undefined {
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
