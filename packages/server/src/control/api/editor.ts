// Makes every change of the rules: checks the revision that it is based on, saves it, writes it to the audit log, and only then
// acknowledges it.

import { setImmediate as nextTurn } from "node:timers/promises"
import { type Clock, SluiceError, systemClock } from "sluice"
import {
  diffRuleSets,
  type EditableRuleSource,
  type RuleEngine,
  type RuleSetDocument,
  type RuleSetRevision,
  type SaveOptions,
} from "sluice/rules"
import type { CheckedDocument, RuleChecker, SentDocument } from "../../rule-work/rule-checker.js"
import type { AuditEntry, AuditLog } from "./audit.js"
import { checkIfMatch } from "./revision-etag.js"
import type { Asked } from "./route.js"
import type { ChangeQuery } from "./schemas.js"

/** A change as the audit log records it: `PUT /rules/:id`, and its target. */
export interface Change {
  readonly action: string
  readonly target?: string
}

/** Longer names are cut in the audit log, because clients choose them. */
const MAX_TARGET_LENGTH = 200

export interface EditorOptions {
  readonly rules: EditableRuleSource
  /** The engine. A change is acknowledged once the engine decides by it. */
  readonly engine: Pick<RuleEngine, "settled">
  readonly audit: AuditLog
  readonly checker: RuleChecker
  readonly clock?: Clock | undefined
}

export class Editor {
  readonly #rules: EditableRuleSource
  readonly #engine: EditorOptions["engine"]
  readonly #audit: AuditLog
  readonly #checker: RuleChecker
  readonly #clock: Clock

  constructor({ rules, engine, audit, checker, clock = systemClock }: EditorOptions) {
    this.#rules = rules
    this.#engine = engine
    this.#audit = audit
    this.#checker = checker
    this.#clock = clock
  }

  /** Puts the result of `edit` in force. `edit` must not change the set that it is given. */
  edit(
    asked: Asked<ChangeQuery>,
    change: Change,
    edit: (document: RuleSetDocument) => unknown,
  ): Promise<RuleSetRevision> {
    return this.#put(asked, change, asked.query.comment, async ({ document }, options) => {
      return await this.#save(await this.#checker.check({ value: edit(document) }), options)
    })
  }

  /** Replaces the whole rule set. */
  replace(asked: Asked<ChangeQuery, SentDocument>, change: Change): Promise<RuleSetRevision> {
    return this.#put(asked, change, asked.query.comment, async (_current, options) =>
      this.#save(await this.#checker.check(asked.body), options),
    )
  }

  /** Puts the content of an earlier revision in force again. */
  rollback(asked: Asked, change: Change, to: number, comment: string | undefined): Promise<RuleSetRevision> {
    return this.#put(asked, change, comment, async (_current, options) => {
      const earlier = await this.#rules.revision(to)
      // The source reports an unknown revision.
      if (earlier === undefined) return await this.#rules.rollback(to, options)
      return await this.#save(await this.#checker.check({ value: earlier.document }), options)
    })
  }

  /** Records a change that does not concern the rules. */
  async record({ actor }: Asked, { action, target }: Change, more: Partial<AuditEntry> = {}): Promise<void> {
    await this.#audit.append({
      at: new Date(this.#clock.now()).toISOString(),
      by: actor.name,
      role: actor.role,
      from: actor.address,
      action,
      ...(target === undefined ? {} : { target: target.slice(0, MAX_TARGET_LENGTH) }),
      ...more,
    })
  }

  #save({ document, etag }: CheckedDocument, options: SaveOptions): Promise<RuleSetRevision> {
    return this.#rules.save(document, { ...options, isChecked: true, etag })
  }

  async #put(
    asked: Asked,
    change: Change,
    comment: string | undefined,
    put: (current: RuleSetRevision, options: SaveOptions) => Promise<RuleSetRevision>,
  ): Promise<RuleSetRevision> {
    const { current } = this.#rules
    checkIfMatch(asked.request, current)
    const said = comment === undefined ? {} : { comment }
    let saved: RuleSetRevision
    try {
      // If two clients edit the same revision at once, the source lets one of them succeed.
      saved = await put(current, { expected: current.revision, by: asked.actor.name, ...said })
    } catch (error) {
      if (error instanceof SluiceError && error.code === "RULES_UNAVAILABLE")
        // The change may be in force, so it is recorded as uncertain.
        await this.record(asked, change, { ...said, outcome: "unknown" })
      throw error
    }
    // Equal rules do not make a new revision.
    if (saved.revision === current.revision) return saved
    await this.#engine.settled()
    // The engine needs some milliseconds more for a large set.
    await nextTurn()
    const changes = diffRuleSets(current.document, saved.document)
    await this.record(asked, change, { revision: saved.revision, changes, ...said })
    return saved
  }
}
