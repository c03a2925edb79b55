// What all rule sources check before they save, and how they show their history.

import { SluiceError } from "../../errors.js"
import { checkFields, checkType } from "../../options.js"
import type { GuardRails } from "../language/guard-rails.js"
import { checkRuleSet } from "../language/parse.js"
import type { RuleSetDocument } from "../language/schema.js"
import type { Steps } from "../language/steps.js"
import { diffRuleSets, type RuleSetChanges } from "./diff.js"
import type { RevisionInfo, RuleSetRevision, RuleSourceHooks, SaveOptions } from "./source.js"

/** The default of the option `history`: how many revisions a source keeps. */
export const DEFAULT_HISTORY = 100

export function checkHistory(history: unknown, place: string): void {
  const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 1
  checkType(history, `${place}.history`, "an integer ≥ 1", isCount)
}

export function checkHooks(options: RuleSourceHooks, place: string): void {
  checkType(options.onEvent, `${place}.onEvent`, "a function", (value) => typeof value === "function")
}

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

/**
 * Checks a set and copies it, so that a later change of the object does not change the rules in force. A set that the caller
 * has checked is neither checked nor copied again.
 */
export function checkedCopy(
  document: unknown,
  guardRails: GuardRails | undefined,
  isChecked = false,
): RuleSetDocument {
  if (guardRails !== undefined) checkRuleSet(document, { guardRails })
  else if (!isChecked) checkRuleSet(document)
  return isChecked ? (document as RuleSetDocument) : structuredClone(document as RuleSetDocument)
}

/** Refuses an edit that was made on another revision than the current one. */
export function checkExpected(current: RuleSetRevision, { expected }: SaveOptions, place: string): void {
  if (expected === undefined || expected === current.revision || expected === current.etag) return
  throw conflict(current, expected, place)
}

export function conflict(current: RuleSetRevision, expected: unknown, place: string): SluiceError {
  return new SluiceError("RULES_CONFLICT", {
    place: `${place}.expected`,
    expected: `must be the current revision, which is ${current.revision}, saved by ${current.changedBy}`,
    found: expected,
  })
}

/** The history, newest first, of revisions that are given oldest first. */
export function* infosOf(revisions: readonly RuleSetRevision[]): Steps<RevisionInfo[]> {
  const infos: RevisionInfo[] = []
  for (const [i, { document, ...info }] of revisions.entries()) {
    infos.push({ ...info, changes: changesFrom(revisions[i - 1]?.document, document) })
    yield
  }
  return infos.reverse()
}

/** Comparisons made before, by the later set: comparing a hundred large sets takes a second. */
const compared = new WeakMap<
  RuleSetDocument,
  { readonly before: RuleSetDocument | undefined; readonly changes: RuleSetChanges }
>()

function changesFrom(before: RuleSetDocument | undefined, after: RuleSetDocument): RuleSetChanges {
  const known = compared.get(after)
  if (known !== undefined && known.before === before) return known.changes
  const changes = diffRuleSets(before, after)
  compared.set(after, { before, changes })
  return changes
}

/** The revision to roll back to. Throws if it is not kept. */
export function revisionToRestore(
  found: RuleSetRevision | undefined,
  to: number,
  place: string,
): RuleSetRevision {
  if (found !== undefined) return found
  throw new SluiceError("RULES_REVISION_UNKNOWN", {
    place: `${place}.to`,
    expected: "must be a revision that is still kept; revisions() lists them",
    found: to,
  })
}
