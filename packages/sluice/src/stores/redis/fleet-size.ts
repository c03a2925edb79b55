/**
 * How many instances share a Redis, from what the heartbeats count. The number rises at once and falls late: when Redis
 * returns, the first heartbeats count 1, 2, 3 … instances of a fleet that is all there, and a share of the limit worked out
 * from that is too large. So a lower number is believed when no heartbeat has counted more for a whole period, without a
 * heartbeat lost in between.
 */
export class FleetSize {
  /** Live instances as last known: the number still holds when Redis is away. */
  instances = 1
  readonly #periodMs: number
  /** Since when every heartbeat counted fewer, and the most that one of them counted. */
  #lowSince: number | undefined
  #most = 0

  constructor(periodMs: number) {
    this.#periodMs = periodMs
  }

  /** A heartbeat counted so many, at a time in ms of a clock that never steps. */
  counted(instances: number, nowMs: number): void {
    if (instances >= this.instances) {
      this.instances = instances
      this.#lowSince = undefined
      return
    }
    if (this.#lowSince === undefined) {
      this.#lowSince = nowMs
      this.#most = 0
    }
    this.#most = Math.max(this.#most, instances)
    if (nowMs - this.#lowSince < this.#periodMs) return
    this.instances = this.#most
    this.#lowSince = undefined
  }

  /** A heartbeat got no answer. Those that come back with Redis need time to be counted again. */
  missed(): void {
    this.#lowSince = undefined
  }
}
