// Which client holds how many connections of a pool, and who waits for one. A client may hold a share of them, so that one
// alone cannot keep all others out, and clients take turns when connections become free.

/** Somebody who waits. Whatever else it is, it is the pool's. */
export interface Waiter {
  /** Who gets the connection. */
  readonly taker: object
  /** Whether it wants one that was never used. */
  readonly isFresh: boolean
  readonly connectMs: number
  readonly timer: NodeJS.Timeout | undefined
}

/** One client. */
export class ClientShare {
  held = 0
  readonly waiting = new Set<Waiter>()
}

export interface ClientSharesOptions {
  /** Connections of one client at once. */
  readonly maxHeld: number
  /** Waiters of all clients. */
  readonly maxWaiting: number
  /** Waiters of one client. */
  readonly maxWaitingEach: number
}

/** Clients that hold nothing are forgotten when so many are known. */
const MAX_KNOWN = 4_096

/** Everything but forgetting takes the same time however many there are. */
export class ClientShares {
  readonly #options: ClientSharesOptions
  readonly #clients = new Map<string, ClientShare>()
  /** Those with a waiter that may have a connection, in the order of their turns. */
  readonly #turns = new Set<ClientShare>()
  readonly #places = new Map<object, { readonly share: ClientShare; readonly waiter: Waiter }>()

  constructor(options: ClientSharesOptions) {
    this.#options = options
  }

  get waiting(): number {
    return this.#places.size
  }

  of(client: string): ClientShare {
    let share = this.#clients.get(client)
    if (share === undefined) {
      if (this.#clients.size >= MAX_KNOWN) this.#forget()
      share = new ClientShare()
      this.#clients.set(client, share)
    }
    return share
  }

  mayHold(share: ClientShare): boolean {
    return share.held < this.#options.maxHeld
  }

  hold(share: ClientShare): void {
    share.held++
    if (!this.mayHold(share)) this.#turns.delete(share)
  }

  release(share: ClientShare): void {
    share.held--
    if (share.waiting.size > 0) this.#turns.add(share)
  }

  /** False when too many wait already. */
  wait(share: ClientShare, waiter: Waiter): boolean {
    const { maxWaiting, maxWaitingEach } = this.#options
    if (this.#places.size >= maxWaiting || share.waiting.size >= maxWaitingEach) return false
    this.#places.set(waiter.taker, { share, waiter })
    share.waiting.add(waiter)
    if (this.mayHold(share)) this.#turns.add(share)
    return true
  }

  /** Whoever is next to get a connection. It stays where it is. */
  next(): Waiter | undefined {
    const [share] = this.#turns
    const [waiter] = share?.waiting ?? []
    return waiter
  }

  /** The place of somebody who does not wait any more. */
  leave(taker: object): { readonly share: ClientShare; readonly waiter: Waiter } | undefined {
    const place = this.#places.get(taker)
    if (place === undefined) return undefined
    const { share, waiter } = place
    this.#places.delete(taker)
    share.waiting.delete(waiter)
    // The others have their turn first.
    this.#turns.delete(share)
    if (share.waiting.size > 0 && this.mayHold(share)) this.#turns.add(share)
    clearTimeout(waiter.timer)
    return place
  }

  #forget(): void {
    for (const [client, { held, waiting }] of this.#clients)
      if (held === 0 && waiting.size === 0) this.#clients.delete(client)
  }
}
