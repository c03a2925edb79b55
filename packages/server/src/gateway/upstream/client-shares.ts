// Limits what one client may take of a pool. A client may hold a share of the connections, so that it cannot lock out the
// others, and clients take turns when connections become free.

/** A request that waits for a connection. */
export interface Waiter {
  /** Receives the connection. */
  readonly taker: object
  /** Whether it needs a connection that was never used. */
  readonly isFresh: boolean
  readonly connectMs: number
  readonly timer: NodeJS.Timeout | undefined
}

/** The connections and waiters of one client. */
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

/** When this many clients are known, those that hold nothing are forgotten. */
const MAX_CLIENTS = 4_096

/** Every operation takes constant time, except forgetting idle clients. */
export class ClientShares {
  readonly #options: ClientSharesOptions
  readonly #clients = new Map<string, ClientShare>()
  /** Clients with a waiter that may receive a connection, in the order of their turns. */
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
      if (this.#clients.size >= MAX_CLIENTS) this.#forget()
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

  /** Adds a waiter. False when too many wait already. */
  wait(share: ClientShare, waiter: Waiter): boolean {
    const { maxWaiting, maxWaitingEach } = this.#options
    if (this.#places.size >= maxWaiting || share.waiting.size >= maxWaitingEach) return false
    this.#places.set(waiter.taker, { share, waiter })
    share.waiting.add(waiter)
    if (this.mayHold(share)) this.#turns.add(share)
    return true
  }

  /** The next waiter to receive a connection. It stays in the queue. */
  next(): Waiter | undefined {
    const [share] = this.#turns
    const [waiter] = share?.waiting ?? []
    return waiter
  }

  /** Removes the waiter of this taker from the queue and returns its place. */
  leave(taker: object): { readonly share: ClientShare; readonly waiter: Waiter } | undefined {
    const place = this.#places.get(taker)
    if (place === undefined) return undefined
    const { share, waiter } = place
    this.#places.delete(taker)
    share.waiting.delete(waiter)
    // Its client goes to the end of the line.
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

/** The part of a target's connections that may be held by uploads that have sent nothing. */
const SILENT_UPLOAD_SHARE = 1 / 8

/**
 * Counts the chunked uploads that hold a connection and have sent nothing yet. Some clients wait for the upstream's first
 * bytes before they send, so a few are allowed; without the limit, silent clients could take every connection.
 */
export class SilentUploads {
  readonly #max: number
  #held = 0

  constructor(connections: number) {
    this.#max = Math.max(1, Math.floor(connections * SILENT_UPLOAD_SHARE))
  }

  /** False when the limit is reached. Every true is followed by one call of `leave`. */
  enter(): boolean {
    if (this.#held >= this.#max) return false
    this.#held++
    return true
  }

  leave(): void {
    this.#held--
  }
}
