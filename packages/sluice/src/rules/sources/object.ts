import type { RuleSetDocument } from "../language/schema.js"
import { CurrentRevision } from "./current-revision.js"
import {
  checkExpected,
  checkedCopy,
  checkSourceOptions,
  EditableSource,
  type SourceOptions,
} from "./editable-source.js"
import { makeRevision } from "./revision.js"
import type { EditableRuleSource, RuleSetRevision, SaveOptions } from "./source.js"

export interface ObjectRulesOptions extends SourceOptions {}

/** Rules in memory, for programs that make their rules and for tests. They last as long as the process. */
export function objectRules(document: unknown, options: ObjectRulesOptions = {}): EditableRuleSource {
  checkSourceOptions(options, [], "objectRules")
  return new ObjectRules(checkedCopy(document, options.guardRails), options)
}

class ObjectRules extends EditableSource {
  protected readonly inForce: CurrentRevision
  /** Oldest first. */
  readonly #history: RuleSetRevision[]

  constructor(document: RuleSetDocument, options: ObjectRulesOptions) {
    super(options)
    const first = makeRevision(1, document, { by: "initial" }, this.clock.now())
    this.#history = [first]
    this.inForce = new CurrentRevision(first, options)
  }

  async close(): Promise<void> {}

  protected async history(): Promise<RuleSetRevision[]> {
    return [...this.#history]
  }

  protected async put(
    document: RuleSetDocument,
    options: SaveOptions,
    place: string,
  ): Promise<RuleSetRevision> {
    checkExpected(this.current, options, place)
    const next = makeRevision(this.current.revision + 1, document, options, this.clock.now())
    if (next.etag === this.current.etag) return this.current
    this.#history.push(next)
    if (this.#history.length > this.maxRevisions) this.#history.shift()
    this.inForce.accept(next)
    return next
  }
}
