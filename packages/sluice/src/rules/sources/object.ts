import type { Clock } from "../../clock.js"
import { systemClock } from "../../clock.js"
import { checkFields } from "../../options.js"
import type { GuardRails } from "../language/guard-rails.js"
import { finishInSlices } from "../language/steps.js"
import { CurrentRevision } from "./current-revision.js"
import {
  checkExpected,
  checkedCopy,
  checkHistory,
  checkHooks,
  checkSave,
  DEFAULT_HISTORY,
  infosOf,
  revisionToRestore,
} from "./edit.js"
import { makeRevision } from "./revision.js"
import type {
  EditableRuleSource,
  RevisionInfo,
  RuleSetRevision,
  RuleSourceHooks,
  SaveOptions,
} from "./source.js"

export interface ObjectRulesOptions extends RuleSourceHooks {
  guardRails?: GuardRails
  /** How many revisions are kept. Default: 100. */
  history?: number
  /** The clock of `changedAt`. Default: the system clock. */
  clock?: Clock
}

/** Rules in memory, for programs that make their rules and for tests. They last as long as the process. */
export function objectRules(document: unknown, options: ObjectRulesOptions = {}): EditableRuleSource {
  return new ObjectRules(document, options)
}

class ObjectRules implements EditableRuleSource {
  readonly #inForce: CurrentRevision
  readonly #options: ObjectRulesOptions
  readonly #clock: Clock
  /** Oldest first. */
  readonly #history: RuleSetRevision[]

  constructor(document: unknown, options: ObjectRulesOptions) {
    checkFields(options, ["guardRails", "history", "clock", "onEvent"], "objectRules")
    checkHistory(options.history, "objectRules")
    checkHooks(options, "objectRules")
    this.#options = options
    this.#clock = options.clock ?? systemClock
    const first = makeRevision(
      1,
      checkedCopy(document, options.guardRails),
      { by: "initial" },
      this.#clock.now(),
    )
    this.#history = [first]
    this.#inForce = new CurrentRevision(first, options)
  }

  get current(): RuleSetRevision {
    return this.#inForce.current
  }

  get stale(): boolean {
    return this.#inForce.stale
  }

  subscribe(listener: (next: RuleSetRevision) => void): () => void {
    return this.#inForce.subscribe(listener)
  }

  async save(document: unknown, options: SaveOptions): Promise<RuleSetRevision> {
    checkSave(options, "save")
    return this.#put(document, options, "save")
  }

  async revisions(): Promise<RevisionInfo[]> {
    return await finishInSlices(infosOf([...this.#history]))
  }

  async revision(revision: number): Promise<RuleSetRevision | undefined> {
    return this.#history.find((kept) => kept.revision === revision)
  }

  async rollback(to: number, options: SaveOptions): Promise<RuleSetRevision> {
    checkSave(options, "rollback")
    const { document } = revisionToRestore(await this.revision(to), to, "rollback")
    return this.#put(document, options, "rollback")
  }

  async close(): Promise<void> {}

  #put(document: unknown, options: SaveOptions, place: string): RuleSetRevision {
    const checked = checkedCopy(document, this.#options.guardRails, options.isChecked)
    checkExpected(this.current, options, place)
    const next = makeRevision(this.current.revision + 1, checked, options, this.#clock.now())
    if (next.etag === this.current.etag) return this.current
    this.#history.push(next)
    if (this.#history.length > (this.#options.history ?? DEFAULT_HISTORY)) this.#history.shift()
    this.#inForce.accept(next)
    return next
  }
}
