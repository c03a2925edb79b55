// What all rule sources do alike: they check what is saved, and show and restore their history.

import { type Clock, systemClock } from "../../clock.js"
import { SluiceError } from "../../errors.js"
import { checkFields, checkFunction, checkType, isFilledText } from "../../options.js"
import type { GuardRails } from "../language/guard-rails.js"
import { checkRuleSet } from "../language/parse.js"
import type { RuleSetDocument } from "../language/schema.js"
import { finishInSlices, type Steps } from "../language/steps.js"
import type { CurrentRevision } from "./current-revision.js"
import { diffRuleSets, type RuleSetChanges } from "./diff.js"
import type {
  EditableRuleSource,
  RevisionInfo,
  RuleSetRevision,
  RuleSourceHooks,
  SaveOptions,
} from "./source.js"

/** The options that all rule sources take. */
export interface SourceOptions extends RuleSourceHooks {
  guardRails?: GuardRails
  /** How many revisions are kept. Default: 100. */
  history?: number
  /** The clock of `changedAt`. Default: the system clock. */
  clock?: Clock
}

const SOURCE_FIELDS = ["guardRails", "history", "clock", "onEvent"]

/** Checks the common options. The source checks its own options, named by `fields`. */
export function checkSourceOptions(options: SourceOptions, fields: readonly string[], place: string): void {
  checkFields(options, [...SOURCE_FIELDS, ...fields], place)
  const isCount = (value: unknown) => Number.isInteger(value) && (value as number) >= 1
  checkType(options.history, `${place}.history`, "an integer ≥ 1", isCount)
  checkFunction(options.onEvent, `${place}.onEvent`)
}

/** A rule source without the place where it keeps the rules. */
export abstract class EditableSource implements EditableRuleSource {
  protected readonly guardRails: GuardRails | undefined
  protected readonly maxRevisions: number
  protected readonly clock: Clock

  constructor({ guardRails, history = 100, clock = systemClock }: SourceOptions) {
    this.guardRails = guardRails
    this.maxRevisions = history
    this.clock = clock
  }

  protected abstract readonly inForce: CurrentRevision

  /** The revisions that are kept, oldest first. */
  protected abstract history(): Promise<readonly RuleSetRevision[]>

  /** Puts a checked set in force. `place` is the name of the call in errors. */
  protected abstract put(
    document: RuleSetDocument,
    options: SaveOptions,
    place: string,
  ): Promise<RuleSetRevision>

  abstract close(): Promise<void>

  get current(): RuleSetRevision {
    return this.inForce.current
  }

  get stale(): boolean {
    return this.inForce.stale
  }

  subscribe(listener: (next: RuleSetRevision) => void): () => void {
    return this.inForce.subscribe(listener)
  }

  async save(document: unknown, options: SaveOptions): Promise<RuleSetRevision> {
    checkSave(options, "save")
    return await this.put(checkedCopy(document, this.guardRails, options.isChecked), options, "save")
  }

  async revisions(): Promise<RevisionInfo[]> {
    return await finishInSlices(infosOf(await this.history()))
  }

  async revision(revision: number): Promise<RuleSetRevision | undefined> {
    return (await this.history()).findLast((kept) => kept.revision === revision)
  }

  async rollback(to: number, options: SaveOptions): Promise<RuleSetRevision> {
    checkSave(options, "rollback")
    const found = await this.revision(to)
    if (found === undefined) {
      throw new SluiceError("RULES_REVISION_UNKNOWN", {
        place: "rollback.to",
        expected: "must be a stored revision; revisions() lists them",
        found: to,
      })
    }
    return await this.put(checkedCopy(found.document, this.guardRails), options, "rollback")
  }
}

const SAVE_FIELDS = ["expected", "by", "comment", "isChecked", "etag"]
const isText = (value: unknown) => typeof value === "string"

function checkSave(options: SaveOptions, place: string): void {
  checkFields(options, SAVE_FIELDS, place)
  checkType(options.by ?? null, `${place}.by`, "the name of who saves", isFilledText)
  checkType(options.comment, `${place}.comment`, "a string", isText)
  const isMark = (value: unknown) => typeof value === "string" || Number.isInteger(value)
  checkType(options.etag, `${place}.etag`, "a string", isText)
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
function* infosOf(revisions: readonly RuleSetRevision[]): Steps<RevisionInfo[]> {
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
