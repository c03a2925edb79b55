// Counts requests and denials by client, in bounded memory.

import type { RuleRequest } from "sluice/rules"
import type { Distinct, HurtClient, HurtReport } from "../model/report.js"
import { DistinctCount } from "./distinct-count.js"
import { RequestCounts } from "./request-counts.js"

/** How many denied clients are kept when there are too many. Up to twice as many are in memory. */
const MAX_HURT = 100_000
const SHOWN = 20
/** Upper bounds of the denied share. */
const SHARES = [0.01, 0.1, 0.5, 1]

/** The client of a request. */
type Asking = Pick<RuleRequest, "user" | "ip" | "client">

interface Denials {
  /** The name under which it was counted. */
  readonly name: string
  denied: number
  readonly first: number
  last: number
}

export class ClientTable {
  readonly #requests: RequestCounts
  readonly #hurt: HurtClients[]

  constructor(candidates: number, most: { readonly clients?: number; readonly hurt?: number } = {}) {
    this.#requests = new RequestCounts(most.clients)
    this.#hurt = Array.from({ length: candidates }, () => new HurtClients(most.hurt ?? MAX_HURT))
  }

  /** Counts a request of its client. */
  request(asking: Asking): void {
    this.#requests.add(nameOf(asking))
  }

  denied(asking: Asking, candidate: number, at: number): void {
    this.#hurt[candidate]?.denied(asking, at)
  }

  get clients(): Distinct {
    return { count: this.#requests.size, exact: this.#requests.isExact }
  }

  hurtBy(candidate: number): HurtReport {
    const { all = [], clients = { count: 0, exact: true } } = this.#hurt[candidate] ?? {}
    const hurt = all.map(([client, { name, denied, first, last }]): HurtClient => {
      // If a client came when there were too many, only its denials are known.
      const requests = Math.max(denied, this.#requests.of(name))
      return { client, requests, denied, firstDenied: first, lastDenied: last }
    })
    const shares = SHARES.map((upTo) => ({ upTo, clients: 0 }))
    for (const { denied, requests } of hurt) {
      const bin = shares.find(({ upTo }) => denied / requests <= upTo)
      if (bin !== undefined) bin.clients++
    }
    const most = hurt.sort((a, b) => b.denied - a.denied || (a.client < b.client ? -1 : 1)).slice(0, SHOWN)
    return { clients, shares, most }
  }
}

/** The clients that one candidate denied. */
class HurtClients {
  readonly #most: number
  #denials = new Map<string, Denials>()
  #beyond: DistinctCount | undefined

  constructor(most: number) {
    this.#most = most
  }

  denied(asking: Asking, at: number): void {
    const client = clientOf(asking)
    const denials = this.#denials.get(client)
    if (denials !== undefined) {
      denials.denied++
      denials.last = at
      return
    }
    if (this.#denials.size >= 2 * this.#most) this.#drop()
    this.#beyond?.add(client)
    // A copy, because a slice would keep its whole chunk of the log in memory.
    const name = Buffer.from(nameOf(asking)).toString()
    this.#denials.set(client, { name, denied: 1, first: at, last: at })
  }

  get all(): [client: string, denials: Denials][] {
    return [...this.#denials]
  }

  get clients(): Distinct {
    return this.#beyond === undefined
      ? { count: this.#denials.size, exact: true }
      : { count: this.#beyond.estimate, exact: false }
  }

  /** Drops the clients with the fewest denials. */
  #drop(): void {
    if (this.#beyond === undefined) {
      this.#beyond = new DistinctCount()
      for (const client of this.#denials.keys()) this.#beyond.add(client)
    }
    this.#denials = new Map(this.all.sort(([, a], [, b]) => b.denied - a.denied).slice(0, this.#most))
  }
}

/** Uses the bare address if possible: adding `ip:` to each took a tenth of the time of a replay. */
function nameOf({ user, ip, client }: Asking): string {
  return user !== undefined ? `user:${user}` : (ip ?? `client:${client}`)
}

/** The name in reports: the user if the log has one, or the address. */
function clientOf({ user, ip, client }: Asking): string {
  if (user !== undefined) return `user:${user}`
  return ip === undefined ? `client:${client ?? "unknown"}` : `ip:${ip}`
}
