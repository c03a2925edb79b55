// Deadline, breaker and guard together, through an outage without a real server: one call a millisecond from before it
// to after it, on a clock that the test moves.

import { setImmediate as turn } from "node:timers/promises"
import { describe, expect, it } from "vitest"
import { compilePolicy } from "../../policy.js"
import { ManualClock } from "../../testing/manual-clock.js"
import { memoryStore } from "../memory/memory-store.js"
import { type Charge, type Degraded, Namespace, type Outcome } from "../store.js"
import { Breaker } from "./breaker.js"
import { withDeadline } from "./deadline.js"
import { FlakyStore } from "./flaky-store.test-support.js"
import { StoreFailure } from "./store-failure.js"
import { StoreGuard } from "./store-guard.js"

const DEADLINE_MS = 50
const GOES_AT = 100
const RETURNS_AT = 3_000
const END = 5_000

/** A server that takes questions and says nothing while it is frozen, like one that was sent SIGSTOP. */
class FrozenStore extends FlakyStore {
  frozen = false
  readonly #breaker: Breaker
  readonly #clock: ManualClock

  constructor(clock: ManualClock) {
    super(memoryStore({ clock }), 1)
    this.#clock = clock
    this.#breaker = new Breaker({ probe: () => this.#answer(), deadlineMs: DEADLINE_MS, timers: clock })
  }

  override async check(charges: readonly Charge[], at?: number): Promise<Outcome> {
    if (!this.#breaker.tryEnter()) throw new StoreFailure("breaker-open", "the breaker is open")
    try {
      const question = () => this.#answer().then(() => super.check(charges, at))
      const outcome = await withDeadline(question, DEADLINE_MS, { timers: this.#clock })
      this.#breaker.succeeded()
      return outcome
    } catch (error) {
      this.#breaker.failed("timeout")
      throw error
    }
  }

  override async close(): Promise<void> {
    this.#breaker.close()
    await super.close()
  }

  async #answer(): Promise<void> {
    if (this.frozen) await new Promise(() => {})
  }
}

describe.each<Degraded>(["allow", "deny", "local"])("a frozen server with %s", (mode) => {
  it("delays no check beyond the deadline, delays few at all, and recovers by itself", async () => {
    const clock = new ManualClock()
    const store = new FrozenStore(clock)
    const guard = new StoreGuard(store, { clock, onStoreFailure: mode })
    const policy = compilePolicy({ limit: 1_000_000, window: "1h" }, "test")
    const charge: Charge = { namespace: new Namespace("test"), key: "key", policy, cost: 1 }
    const start = clock.now()
    const calls: { at: number; tookMs: number; outcome: Outcome }[] = []
    for (let at = 0; at < END; at++) {
      store.frozen = at >= GOES_AT && at < RETURNS_AT
      const asked = guard.check([charge])
      void asked.then((outcome) => calls.push({ at, tookMs: clock.now() - start - at, outcome }))
      await turn()
      clock.advance(1)
      await turn()
    }
    await guard.close()
    await turn()

    expect(calls).toHaveLength(END)
    expect(Math.max(...calls.map(({ tookMs }) => tookMs))).toBeLessThanOrEqual(DEADLINE_MS + 10)
    // Only calls from before it opened waited; later ones were answered at once.
    const firstFailure = GOES_AT + DEADLINE_MS
    const late = calls.filter(({ at, tookMs }) => at > firstFailure + 250 && tookMs > 0)
    expect(late).toEqual([])
    const during = calls.filter(({ at }) => at >= GOES_AT && at < RETURNS_AT)
    expect(new Set(during.map(({ outcome }) => outcome.degraded))).toEqual(new Set([mode]))
    expect(during.filter(({ outcome }) => outcome.allowed)).toHaveLength(mode === "deny" ? 0 : during.length)
    const back = calls.filter(({ at }) => at >= RETURNS_AT + 700)
    expect(new Set(back.map(({ outcome }) => outcome.degraded))).toEqual(new Set([undefined]))
    expect(clock.pending).toBe(0)
  })
})
