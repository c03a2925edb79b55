// The etag of the rules: every answer that shows a part of them has it, and every edit says which one it was made on.

import type { IncomingMessage } from "node:http"
import { SluiceError } from "sluice"
import type { RuleSetRevision } from "sluice/rules"

/** Strong, as it stands in a header. The number alone could mean other rules after a restart without history. */
export function etagOf({ revision, etag }: RuleSetRevision, variant = ""): string {
  return `"${revision}-${etag.slice(0, 16)}${variant}"`
}

/** What every answer says of the revision that it shows. */
export function revisionHeaders(revision: RuleSetRevision, variant = ""): Record<string, string> {
  return {
    etag: etagOf(revision, variant),
    "sluice-revision": String(revision.revision),
    "last-modified": new Date(revision.changedAt).toUTCString(),
    "cache-control": "private, no-cache",
  }
}

/** The variant that is YAML: the same rules in other bytes, so another etag. An edit may be made on either. */
export const YAML_VARIANT = "-yaml"

/** Refuses an edit that does not say what it was made on, or that was made on something else than what is in force. */
export function checkIfMatch({ headers }: IncomingMessage, current: RuleSetRevision): void {
  const given = headers["if-match"]
  if (given === undefined) {
    throw new SluiceError("IF_MATCH_REQUIRED", {
      place: "if-match",
      expected:
        "is required: the etag of the rules that the change was made on, or * for whichever are in force",
    })
  }
  const known = [etagOf(current), etagOf(current, YAML_VARIANT), "*"]
  if (given.split(",").some((etag) => known.includes(etag.trim()))) return
  throw new SluiceError("RULES_CONFLICT", {
    place: "if-match",
    expected: `must be what is in force: ${etagOf(current)}, saved by ${current.changedBy}`,
    found: given,
  })
}
