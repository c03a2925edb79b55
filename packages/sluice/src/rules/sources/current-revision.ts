import { notify, warn } from "../../notify.js"
import type { RuleSetRevision, RuleSourceEvent, RuleSourceHooks } from "./source.js"

interface Subscription {
  readonly listener: (next: RuleSetRevision) => void
  /** The last revision that the listener was called with, or that was in force when it subscribed. */
  lastNotified: number
}

/** The revision in force and its subscribers: what all rule sources have in common. */
export class CurrentRevision {
  readonly #onEvent: RuleSourceHooks["onEvent"]
  readonly #subscriptions = new Set<Subscription>()
  readonly #unannounced: RuleSetRevision[] = []
  #current: RuleSetRevision
  #stale = false
  #isNotifying = false
  /** The problems reported since the source last worked. Each is reported once, not with every poll. */
  readonly #reported = new Set<string>()

  constructor(first: RuleSetRevision, { onEvent }: RuleSourceHooks) {
    this.#current = first
    this.#onEvent = onEvent
  }

  get current(): RuleSetRevision {
    return this.#current
  }

  get stale(): boolean {
    return this.#stale
  }

  /** Puts a newer revision in force and notifies the subscribers. */
  accept(accepted: RuleSetRevision): void {
    this.#current = accepted
    this.#unannounced.push(accepted)
    // If a listener saves, its revision is announced after all listeners have heard of this one.
    if (this.#isNotifying) return
    this.#isNotifying = true
    for (let next = this.#unannounced.shift(); next !== undefined; next = this.#unannounced.shift()) {
      for (const subscription of [...this.#subscriptions]) this.#notifyOne(subscription, next)
    }
    this.#isNotifying = false
  }

  subscribe(listener: (next: RuleSetRevision) => void): () => void {
    const subscription = { listener, lastNotified: this.#current.revision }
    this.#subscriptions.add(subscription)
    return () => void this.#subscriptions.delete(subscription)
  }

  /** Reports a problem with the file or Redis. The current revision stays in force, and is stale. */
  trouble(event: RuleSourceEvent): void {
    this.#stale = true
    const what = event.kind === "refused" ? event.error.message : event.kind
    if (this.#reported.has(what)) return
    this.#reported.add(what)
    this.report(event)
  }

  recovered(): void {
    if (!this.#stale) return
    this.#stale = false
    this.#reported.clear()
    this.report({ kind: "recovered" })
  }

  report(event: RuleSourceEvent): void {
    if (this.#onEvent !== undefined) notify(this.#onEvent, event)
    else if ("error" in event) warn(event.error)
    else if (event.kind === "lost")
      warn(new Error(`rules: Redis has lost revision ${this.#current.revision}`))
  }

  #notifyOne(subscription: Subscription, next: RuleSetRevision): void {
    if (!this.#subscriptions.has(subscription) || next.revision <= subscription.lastNotified) return
    subscription.lastNotified = next.revision
    notify(subscription.listener, next)
  }
}
