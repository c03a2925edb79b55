import { SluiceError } from "sluice"
import type { EditableRuleSource, RevisionInfo, RuleSetRevision } from "sluice/rules"

/** The rules of a worker: a copy of the primary's, which reads and edits them for all workers. */
export class FollowedRules implements EditableRuleSource {
  readonly #listeners = new Set<(next: RuleSetRevision) => void>()
  #current: RuleSetRevision
  #stale = false

  constructor(first: RuleSetRevision) {
    this.#current = first
  }

  get current(): RuleSetRevision {
    return this.#current
  }

  get stale(): boolean {
    return this.#stale
  }

  /** Applies what the primary has put in force. */
  follow(next: RuleSetRevision, stale: boolean): void {
    this.#stale = stale
    if (next.revision === this.#current.revision) return
    this.#current = next
    for (const listener of this.#listeners) listener(next)
  }

  subscribe(listener: (next: RuleSetRevision) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  save(): Promise<RuleSetRevision> {
    return Promise.reject(notInWorker("save"))
  }

  rollback(): Promise<RuleSetRevision> {
    return Promise.reject(notInWorker("rollback"))
  }

  revisions(): Promise<RevisionInfo[]> {
    return Promise.reject(notInWorker("revisions"))
  }

  async revision(revision: number): Promise<RuleSetRevision | undefined> {
    return revision === this.#current.revision ? this.#current : undefined
  }

  async close(): Promise<void> {
    this.#listeners.clear()
  }
}

function notInWorker(place: string): SluiceError {
  return new SluiceError("RULES_UNAVAILABLE", {
    place,
    expected: "only works in the primary process; use the control plane",
  })
}
