// The etag of the rules. Every answer that shows a part of them has it, and every edit must name the etag that it is based on.

import type { IncomingMessage } from "node:http"
import { SluiceError } from "sluice"
import type { RuleSetRevision } from "sluice/rules"

/** The strong etag of a revision. The number alone could mean other rules after a restart without history. */
export function etagOf({ revision, etag }: RuleSetRevision, variant = ""): string {
  return `"${revision}-${etag.slice(0, 16)}${variant}"`
}

/** The headers that describe the revision that an answer shows. */
export function revisionHeaders(revision: RuleSetRevision, variant = ""): Record<string, string> {
  return {
    etag: etagOf(revision, variant),
    "sluice-revision": String(revision.revision),
    "last-modified": new Date(revision.changedAt).toUTCString(),
    "cache-control": "private, no-cache",
  }
}

/** The suffix of the YAML form, which has other bytes and so another etag. An edit may name either. */
export const YAML_VARIANT = "-yaml"

/** Throws unless the edit names the etag of the rules in force. */
export function checkIfMatch({ headers }: IncomingMessage, current: RuleSetRevision): void {
  const given = headers["if-match"]
  if (given === undefined) {
    throw new SluiceError("IF_MATCH_REQUIRED", {
      place: "if-match",
      expected: "is required: the etag of the rules that the change is based on, or * for any",
    })
  }
  const known = [etagOf(current), etagOf(current, YAML_VARIANT), "*"]
  if (given.split(",").some((etag) => known.includes(etag.trim()))) return
  throw new SluiceError("RULES_CONFLICT", {
    place: "if-match",
    expected: `must be the current etag ${etagOf(current)}, saved by ${current.changedBy}`,
    found: given,
  })
}
