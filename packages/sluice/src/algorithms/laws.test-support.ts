// What must hold for every algorithm after every step. Each law examines a key and may try calls on
// copies of it; it throws when it does not hold.

import type { Verdict } from "./algorithm.js"
import { Key } from "./key.test-support.js"
import type { Event, Step } from "./scenario.test-support.js"

export type Law = (key: Key, event: Event, step: Step) => void

/** Times from here on are outside exact arithmetic, and a probe there would prove nothing. */
const END_OF_TIME = 2 ** 53 - 1

export const laws: Readonly<Record<string, Law>> = {
  "denies one µs before retryAfter and allows at it": (key, { asked: cost, now, verdict }) => {
    const { allowed, retryAfter } = verdict
    if (cost === 0) return
    if (allowed) return equal(retryAfter, 0, "retryAfter when allowed")
    if (cost > key.policy.capacity)
      return equal(retryAfter, Number.POSITIVE_INFINITY, "retryAfter of what never fits")
    if (!(retryAfter > 0)) throw new Error(`denied with retryAfter ${retryAfter}`)
    if (now + retryAfter > END_OF_TIME) return
    const settled = key.settled(now)
    equal(settled.decide(cost, now + retryAfter - 1).allowed, false, "allowed one µs before retryAfter")
    equal(settled.decide(cost, now + retryAfter).allowed, true, "allowed at retryAfter")
  },

  "allows after the wait in whole milliseconds or seconds, rounded up, as every wire shows it": (
    key,
    { asked: cost, now, verdict: { retryAfter } },
  ) => {
    if (retryAfter === 0 || cost === 0) return
    const settled = key.settled(now)
    for (const unit of [1_000, 1_000_000]) {
      const later = now + Math.ceil(retryAfter / unit) * unit
      if (later > END_OF_TIME) return
      equal(settled.decide(cost, later).allowed, true, `allowed after whole units of ${unit} µs`)
    }
  },

  "tells a peek when one unit passes: denied one µs before, allowed at it": (key, { now }) => {
    const { remaining, retryAfter } = key.decide(0, now)
    equal(retryAfter === 0, remaining > 0, "no wait while a unit is left")
    if (retryAfter === 0 || now + retryAfter > END_OF_TIME) return
    const settled = key.settled(now)
    equal(settled.decide(1, now + retryAfter - 1).allowed, false, "allowed one µs before the peek said")
    equal(settled.decide(1, now + retryAfter).allowed, true, "allowed when the peek said")
  },

  "checks in one step as in two": (key, { cost, now }) => {
    const [inOne, inTwo] = [key.copy(), key.copy()]
    equalVerdicts(inOne.check(cost, now), inTwo.checkInTwoSteps(cost, now), "in one step")
    equal(inOne.cells.join(), inTwo.cells.join(), "state after one step")
  },

  "changes nothing by deciding, so neither by a denial nor by a peek": (key, { cost, now, verdict }) => {
    const before = key.cells.slice()
    const ask = (asked: number) => {
      const wrote = key.check(asked, now)
      if (asked > 0 && (wrote.allowed || wrote.stale)) key.cells = before.slice()
      else
        equal(
          key.cells.join(),
          before.join(),
          `state after ${wrote.allowed ? "a peek" : `a denied ${asked}`}`,
        )
    }
    key.decide(cost, now)
    equal(key.cells.join(), before.join(), "state after deciding")
    for (const asked of [0, verdict.remaining + 1, key.policy.capacity + 1]) ask(asked)
  },

  "keeps every later answer when a cost of 0 is charged": (key, { cost, now }, step) => {
    if (key.decide(0, now).stale) return
    const settled = key.copy()
    settled.charge(0, now)
    for (const later of moments(key, now, step)) {
      for (const asked of [0, cost])
        equalVerdicts(settled.decide(asked, later), key.decide(asked, later), `at +${later - now}`)
    }
  },

  "says as remaining exactly the largest cost that passes": (key, { now, verdict }) => {
    const { remaining } = verdict
    if (!Number.isInteger(remaining) || remaining < 0) throw new Error(`remaining is ${remaining}`)
    // When a lowered limit leaves more charged than fits, not even 0 passes.
    if (remaining > 0) equal(key.decide(remaining, now).allowed, true, "allowed at remaining")
    equal(key.decide(remaining + 1, now).allowed, false, "allowed above remaining")
    const peek = key.decide(0, now)
    equal(peek.used, key.used(now), "used")
    equal(Math.max(0, key.policy.capacity - peek.used), peek.remaining, "capacity less used")
  },

  "is as new at resetAfter and not one µs before": (key, { now, verdict, cost }) => {
    const { resetAfter } = verdict
    const { capacity } = key.policy
    const fresh = new Key(key.policy)
    const settled = key.settled(now)
    if (now + resetAfter > END_OF_TIME) return
    for (const asked of [0, 1, cost, capacity, capacity + 1]) {
      equalVerdicts(
        settled.decide(asked, now + resetAfter),
        fresh.decide(asked, now + resetAfter),
        `asked ${asked} at reset`,
      )
    }
    if (resetAfter === 0) return
    const justBefore = settled.decide(0, now + resetAfter - 1)
    if (justBefore.remaining >= capacity) throw new Error("as new one µs before resetAfter")
  },

  "expires no earlier than resetAfter, and is then as new": (key, { now, cost }) => {
    const settled = key.settled(now)
    const reset = now + settled.decide(0, now).resetAfter
    const expiry = Math.max(now, settled.expiresAt())
    if (expiry > END_OF_TIME) return
    if (expiry < reset) throw new Error(`expires ${reset - expiry} µs before it is as new`)
    for (const asked of [0, 1, cost]) {
      equalVerdicts(
        settled.decide(asked, expiry),
        new Key(key.policy).decide(asked, expiry),
        `asked ${asked} at expiry`,
      )
    }
  },

  "gives no free units when time goes backwards": (key, { now }, step) => {
    const { remaining } = key.decide(0, now)
    const { window } = key.policy
    const part = Math.floor((window / 1_000) * step.far)
    for (const back of [1, part, window, window + 1, 2 * window + part, now]) {
      const earlier = now - back
      if (earlier < 0) continue
      const then = key.settled(earlier)
      const found = then.decide(0, earlier).remaining
      if (found > remaining)
        throw new Error(`${back} µs earlier ${found} units are free instead of ${remaining}`)
    }
  },

  "waits no longer than ever needed, whatever the clock and the policy were": (key, { now }) => {
    const { window, capacity, limit, buckets } = key.policy
    // A bucket drains all it holds; a counter forgets when its oldest bucket is out. A clock may be one window off.
    const drains = key.policy.token > 0 ? (window / limit) * Math.max(capacity, key.used(now)) : window
    // A window of a calendar may be a little longer than usual.
    const longer = key.policy.calendar === undefined ? 0 : 3_600_000_000
    const longest = Math.ceil(
      window +
        longer +
        drains +
        (key.policy.algorithm.name === "sliding-window-counter" ? window / buckets : 0),
    )
    const { retryAfter, resetAfter } = key.decide(capacity, now)
    if (retryAfter > longest) throw new Error(`retryAfter ${retryAfter} is longer than ${longest}`)
    if (resetAfter > longest) throw new Error(`resetAfter ${resetAfter} is longer than ${longest}`)
  },

  "gives back at most what was asked and at most what is charged": (key, { now, cost }) => {
    const before = key.decide(0, now).remaining
    const refunded = key.copy()
    refunded.refund(cost, now)
    const after = refunded.decide(0, now).remaining
    if (after < before) throw new Error(`a refund took ${before - after} units away`)
    if (after > before + cost) throw new Error(`a refund of ${cost} freed ${after - before} units`)
    if (after > key.policy.capacity) throw new Error(`${after} units fit into ${key.policy.capacity}`)
    refunded.refund(2 ** 52, now)
    if (refunded.used(now) !== 0) throw new Error("a refund of everything left something charged")
    equalVerdicts(refunded.decide(1, now), new Key(key.policy).decide(1, now), "after a refund of everything")
  },

  "is where it was after a charge and its refund": (key, { now }, step) => {
    const settled = key.copy()
    settled.charge(0, now)
    const { remaining } = settled.decide(0, now)
    if (remaining === 0) return
    const charged = settled.copy()
    charged.charge(1 + (step.far % remaining), now)
    charged.refund(1 + (step.far % remaining), now)
    for (const later of moments(key, now, step)) {
      for (const asked of [0, 1, remaining]) {
        equalVerdicts(
          charged.decide(asked, later),
          settled.decide(asked, later),
          `asked ${asked} at +${later - now}`,
        )
      }
    }
  },
}

/** Now and a few later times. */
function moments(key: Key, now: number, step: Step): number[] {
  const { window, bucketSize } = key.policy
  return [
    now,
    now + 1,
    now + Math.floor((bucketSize / 1_000) * step.far),
    now + bucketSize,
    now + window - 1,
    now + window,
  ]
}

function equal<T>(found: T, expected: T, what: string): void {
  if (!Object.is(found, expected))
    throw new Error(`${what}: expected ${String(expected)}, found ${String(found)}`)
}

/** Compares all that a caller sees. */
export function equalVerdicts(
  found: Omit<Verdict, "stale">,
  expected: Omit<Verdict, "stale">,
  what: string,
): void {
  equal(found.allowed, expected.allowed, `allowed ${what}`)
  equal(found.remaining, expected.remaining, `remaining ${what}`)
  equal(found.used, expected.used, `used ${what}`)
  equal(found.retryAfter, expected.retryAfter, `retryAfter ${what}`)
  equal(found.resetAfter, expected.resetAfter, `resetAfter ${what}`)
  equal(found.delay, expected.delay, `delay ${what}`)
}
