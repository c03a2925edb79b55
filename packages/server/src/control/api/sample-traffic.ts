// Sends sample requests for a minute, so that a person who has just started the service sees it work. The rules decide, charge and
// count them like real requests.

import { type Clock, systemClock } from "sluice"
import { ask, type Core } from "../../core.js"

/** How long the sample traffic lasts. */
export const SAMPLE_MS = 60_000
const STEP_MS = 100

/** In each step a client sends at most `most` requests, and half of that on average. */
interface Client {
  readonly method: string
  readonly path: string
  readonly ip: string
  readonly apiKey?: string
  readonly most: number
}

const CLIENTS: readonly Client[] = [
  // A well-behaved client that is nearly always allowed.
  { method: "GET", path: "/v1/items", ip: "198.51.100.7", apiKey: "sample-key-of-a-shop", most: 1 },
  { method: "GET", path: "/v1/orders", ip: "198.51.100.8", apiKey: "sample-key-of-an-app", most: 1 },
  // A client far above its burst, which is often denied.
  { method: "GET", path: "/v1/items", ip: "203.0.113.40", apiKey: "sample-key-of-a-crawler", most: 6 },
  // More searches than the rule in shadow mode would allow.
  {
    method: "GET",
    path: "/v1/search?q=sluice",
    ip: "203.0.113.41",
    apiKey: "sample-key-of-a-partner",
    most: 2,
  },
  // A client that guesses passwords.
  { method: "POST", path: "/login", ip: "192.0.2.66", most: 0.3 },
]

export class SampleTraffic {
  readonly #core: Core
  readonly #clock: Clock
  #timer: NodeJS.Timeout | undefined
  #endsAt = 0

  constructor(core: Core, clock: Clock = systemClock) {
    this.#core = core
    this.#clock = clock
  }

  /** When the traffic ends, in milliseconds since 1970. Undefined if there is none. */
  get endsAt(): number | undefined {
    return this.#timer === undefined ? undefined : this.#endsAt
  }

  /** Starts the traffic. Further calls do nothing while it runs. */
  start(): number {
    if (this.#timer === undefined) {
      this.#endsAt = this.#clock.now() + SAMPLE_MS
      this.#timer = setInterval(() => this.#step(), STEP_MS).unref()
    }
    return this.#endsAt
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #step(): void {
    if (this.#clock.now() >= this.#endsAt) {
      this.stop()
      return
    }
    for (const { most, apiKey, ...request } of CLIENTS) {
      for (let left = Math.random() * most; left > Math.random(); left--)
        void this.#send(apiKey === undefined ? request : { ...request, headers: { "x-api-key": apiKey } })
    }
  }

  async #send(request: Parameters<typeof ask>[2]): Promise<void> {
    try {
      await ask(this.#core, "http", request)
    } catch {
      // The user may be trying rules that refuse these requests. Nothing waits for the answer.
    }
  }
}
