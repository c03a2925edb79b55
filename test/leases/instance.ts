// One instance of a fleet: the real lease code, with a clock of its own, on a network that delays and loses messages.

import type { Charge, Check, Degraded, Namespace, Outcome, Settled, Settlement, Store } from "sluice"
import { LeasingStore } from "../../packages/sluice/src/stores/leases/leasing-store.js"
import type { MemoryStore } from "../../packages/sluice/src/stores/memory/memory-store.js"
import type { Dice, World } from "./world.js"

/** How the network treats messages, in µs. */
export interface Weather {
  readonly delay: number
  readonly slow: number
  readonly slowChance: number
  readonly loss: number
}

const DEADLINE = 50_000

export class Instance implements Store {
  readonly leases: LeasingStore
  readonly #world: World
  readonly #dice: Dice
  readonly #server: MemoryStore
  readonly #weather: Weather
  /** The clock of the instance started somewhere, and runs a little faster or slower than that of the server. */
  readonly #offset: number
  readonly #speed: number
  #pausedUntil = 0
  #cutUntil = 0
  #isDead = false
  instances = 1

  constructor(world: World, dice: Dice, server: MemoryStore, weather: Weather) {
    this.#world = world
    this.#dice = dice
    this.#server = server
    this.#weather = weather
    this.#offset = dice.between(0, 1e9)
    this.#speed = 1 + (dice.fraction() - 0.5) / 1_000
    this.leases = new LeasingStore(this, {
      timers: {
        now: () => (this.#offset + world.now * this.#speed) / 1_000,
        schedule: (ms, callback) => {
          let isCancelled = false
          this.plan(ms * 1_000, () => isCancelled || callback())
          return () => {
            isCancelled = true
          }
        },
      },
    })
  }

  /** Runs something on this instance after a while: later if it is stopped then, never if it has crashed. */
  plan(after: number, run: () => void): void {
    this.#world.plan(this.#world.now + after, () => {
      if (this.#isDead) return
      const wait = this.#pausedUntil - this.#world.now
      if (wait > 0) this.plan(wait, run)
      else run()
    })
  }

  /** Stops the process for a while. Its clock goes on. */
  pause(duration: number): void {
    this.#pausedUntil = this.#world.now + duration
  }

  /** Cuts the instance off from the server for a while. */
  cut(duration: number): void {
    this.#cutUntil = this.#world.now + duration
  }

  crash(): void {
    this.#isDead = true
  }

  check(charges: readonly Charge[]): Promise<Outcome> {
    return this.#call(() => this.#server.checkSync(charges))
  }

  refund(charges: readonly Charge[]): Promise<void> {
    return this.#call(() => void this.#server.refund(charges))
  }

  settle(settlements: readonly Settlement[]): Promise<Settled> {
    return this.#call(() => {
      void this.#server.settle(settlements)
      return { result: "settled", now: this.#world.now }
    })
  }

  decide(charges: readonly Charge[]): Promise<Outcome> {
    return this.#call(() => this.#server.checkSync(charges.map((charge) => ({ ...charge, cost: 0 }))))
  }

  checkMany(checks: readonly Check[], _onStoreFailure?: Degraded): Promise<Outcome[]> {
    return Promise.all(checks.map(({ charges }) => this.check(charges)))
  }

  charge(charges: readonly Charge[]): Promise<void> {
    return this.#call(() => void this.#server.charge(charges))
  }

  reset(charges: readonly Charge[]): Promise<void> {
    return this.#call(() => void this.#server.reset(charges))
  }

  mayBlock(_namespace: Namespace): boolean {
    return false
  }

  async close(): Promise<void> {}

  #call<T>(run: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      const fail = (after: number) =>
        this.plan(after, () => reject(new Error("no answer within the deadline")))
      if (this.#isLost()) {
        fail(DEADLINE)
        return
      }
      const there = this.#delay()
      const back = this.#delay()
      this.#world.plan(this.#world.now + there, () => {
        const answer = run()
        // A call whose answer comes too late has failed for the instance. The server has run it nevertheless.
        if (this.#isLost() || there + back > DEADLINE) fail(Math.max(DEADLINE - there, 0))
        else this.plan(back, () => resolve(answer))
      })
    })
  }

  #isLost(): boolean {
    return this.#world.now < this.#cutUntil || this.#dice.chance(this.#weather.loss)
  }

  #delay(): number {
    const { delay, slow, slowChance } = this.#weather
    return this.#dice.between(1, this.#dice.chance(slowChance) ? slow : delay)
  }
}
