// What every save does before anything is written: its options are checked, and whom it was made on.

import { SluiceError } from "../../errors.js"
import { checkFields, checkType } from "../../options.js"
import type { GuardRails } from "../language/guard-rails.js"
import { checkRuleSet } from "../language/parse.js"
import type { RuleSetDocument } from "../language/schema.js"
import type { Steps } from "../language/steps.js"
import { diffRuleSets, type RuleSetChanges } from "./diff.js"
import { etagOf } from "./etag.js"
import type { RevisionInfo, RuleSetRevision, SaveOptions } from "./source.js"

const SAVE_FIELDS = ["expected", "by", "comment", "isChecked", "etag"]
const isText = (value: unknown) => typeof value === "string"

export function checkSave(options: SaveOptions, place: string): void {
  checkFields(options, SAVE_FIELDS, place)
  const isName = (value: unknown) => typeof value === "string" && value !== ""
  checkType(options.by ?? null, `${place}.by`, "the name of who saves", isName)
  checkType(options.comment, `${place}.comment`, "a text", isText)
  const isMark = (value: unknown) => typeof value === "string" || Number.isInteger(value)
  checkType(options.etag, `${place}.etag`, "a text", isText)
  checkType(options.expected, `${place}.expected`, "a revision or an etag", isMark)
}

/** The set, checked, and a copy unless it is the source's own: nobody changes the rules in force by changing an object. */
export function checkedCopy(
  document: unknown,
  guardRails: GuardRails | undefined,
  isChecked = false,
): RuleSetDocument {
  if (guardRails !== undefined) checkRuleSet(document, { guardRails })
  else if (!isChecked) checkRuleSet(document)
  return isChecked ? (document as RuleSetDocument) : structuredClone(document as RuleSetDocument)
}

/** Refuses an edit that was made on something else than what is in force. */
export function checkExpected(current: RuleSetRevision, { expected }: SaveOptions, place: string): void {
  if (expected === undefined || expected === current.revision || expected === current.etag) return
  throw conflict(current, expected, place)
}

export function conflict(current: RuleSetRevision, expected: unknown, place: string): SluiceError {
  return new SluiceError("RULES_CONFLICT", {
    place: `${place}.expected`,
    expected: `must be what is in force: revision ${current.revision}, saved by ${current.changedBy}`,
    found: expected,
  })
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

/** The history of revisions that are given oldest first, as people want to see it: newest first. */
export function* infosOf(revisions: readonly RuleSetRevision[]): Steps<RevisionInfo[]> {
  const infos: RevisionInfo[] = []
  for (const [i, { document, ...info }] of revisions.entries()) {
    infos.push({ ...info, changes: changesOnce(revisions[i - 1]?.document, document) })
    yield
  }
  return infos.reverse()
}

/** What was compared before, by the later set: the differences of a hundred large sets took a second each time. */
const compared = new WeakMap<
  RuleSetDocument,
  { readonly before: RuleSetDocument | undefined; readonly changes: RuleSetChanges }
>()

function changesOnce(before: RuleSetDocument | undefined, after: RuleSetDocument): RuleSetChanges {
  const known = compared.get(after)
  if (known !== undefined && known.before === before) return known.changes
  const changes = diffRuleSets(before, after)
  compared.set(after, { before, changes })
  return changes
}

/** The revision to go back to. */
export function wanted(found: RuleSetRevision | undefined, to: number, place: string): RuleSetRevision {
  if (found !== undefined) return found
  throw new SluiceError("RULES_REVISION_UNKNOWN", {
    place: `${place}.to`,
    expected: "must be a revision that is kept; see revisions()",
    found: to,
  })
}
