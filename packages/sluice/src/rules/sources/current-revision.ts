import { notify } from "../../notify.js"
import type { RuleSetRevision, RuleSourceEvent, RuleSourceHooks } from "./source.js"

interface Subscription {
  readonly listener: (next: RuleSetRevision) => void
  /** The last revision it was told of, or that was in force when it came. */
  told: number
}

/** The set in force, and who wants to know of the next one. What all sources have in common. */
export class CurrentRevision {
  readonly #onEvent: RuleSourceHooks["onEvent"]
  readonly #subscriptions = new Set<Subscription>()
  readonly #news: RuleSetRevision[] = []
  #current: RuleSetRevision
  #stale = false
  #telling = false
  /** What was said since all was well: a server that is away is away at every look. */
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

  /** Puts a newer revision in force and tells everyone. */
  accept(next: RuleSetRevision): void {
    this.#current = next
    this.#news.push(next)
    // A listener that saves is told of its own save after everybody has heard of the one before.
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

  /** Something is wrong with where the rules live: the current ones stay, and no longer count as the newest. */
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
