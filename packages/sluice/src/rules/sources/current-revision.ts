import { notify } from "../../notify.js"
import type { RuleSetRevision, RuleSourceEvent, RuleSourceHooks } from "./source.js"

interface Subscription {
  readonly listener: (next: RuleSetRevision) => void
  /** The last revision that the listener was called with, or that was in force when it subscribed. */
  told: number
}

/** The revision in force and its subscribers: what all rule sources have in common. */
export class CurrentRevision {
  readonly #onEvent: RuleSourceHooks["onEvent"]
  readonly #subscriptions = new Set<Subscription>()
  readonly #news: RuleSetRevision[] = []
  #current: RuleSetRevision
  #stale = false
  #telling = false
  /** What was reported since the source was last in order: each problem is reported once, not with every poll. */
  readonly #said = new Set<string>()

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
  accept(next: RuleSetRevision): void {
    this.#current = next
    this.#news.push(next)
    // If a listener saves, its revision is announced after all listeners have heard of this one.
    if (this.#telling) return
    this.#telling = true
    for (let news = this.#news.shift(); news !== undefined; news = this.#news.shift()) {
      for (const subscription of [...this.#subscriptions]) this.#tellOne(subscription, news)
    }
    this.#telling = false
  }

  subscribe(listener: (next: RuleSetRevision) => void): () => void {
    const subscription = { listener, told: this.#current.revision }
    this.#subscriptions.add(subscription)
    return () => void this.#subscriptions.delete(subscription)
  }

  /** Reports a problem with the file or Redis. The current revision stays in force, and is stale. */
  trouble(event: RuleSourceEvent): void {
    this.#stale = true
    const what = event.kind === "refused" ? event.error.message : event.kind
    if (this.#said.has(what)) return
    this.#said.add(what)
    this.report(event)
  }

  recovered(): void {
    if (!this.#stale) return
    this.#stale = false
    this.#said.clear()
    this.report({ kind: "recovered" })
  }

  report(event: RuleSourceEvent): void {
    if (this.#onEvent !== undefined) notify(this.#onEvent, event)
    else if ("error" in event) globalThis.process?.emitWarning?.(event.error)
    else if (event.kind === "lost")
      globalThis.process?.emitWarning?.(`rules: Redis has lost revision ${this.#current.revision}`)
  }

  #tellOne(subscription: Subscription, news: RuleSetRevision): void {
    if (!this.#subscriptions.has(subscription) || news.revision <= subscription.told) return
    subscription.told = news.revision
    notify(subscription.listener, news)
  }
}
