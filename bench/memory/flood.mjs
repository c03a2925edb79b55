// Child process: a flood of distinct keys against a store with room for few. Memory must stay flat, and clients that were
// there before, or came during the flood, must get the right answer all the same.

import { createLimiter, memoryStore } from "sluice"
import { answer, collectGarbage } from "../harness/child.mjs"
import { turn } from "../harness/measure.mjs"

const LIMIT = 10
const CALLS_PER_TURN = 10_000
/** A store that gets slower when it is full must not hold up the benchmark for hours. */
const MAX_SECONDS = 180
/** Keys of each sort that are watched throughout. */
const WATCHED = 500

/** @typedef {{ checks: number, rssMiB: number, heldKeys: number, nsPerCheck: number }} Step */

answer({
  async run(/** @type {{ distinctKeys: number, maxKeys: number }} */ { distinctKeys, maxKeys }) {
    const store = memoryStore({ maxKeys })
    const limiter = createLimiter({ algorithm: "token-bucket", limit: LIMIT, window: "1d", store })
    const wrong = { limited: 0, halfUsed: 0, fresh: 0, visitors: 0 }
    /** A key that is at its limit, and one that has used more than half. Both must outlast the flood. */
    for (let i = 0; i < WATCHED; i++) {
      for (let n = 0; n < LIMIT; n++) limiter.checkSync(`limited:${i}`)
      for (let n = 0; n < 6; n++) limiter.checkSync(`half:${i}`)
    }
    const visitEvery = distinctKeys / WATCHED
    const stepLength = distinctKeys / 10
    /** @type {Step[]} */
    const steps = []
    let visitors = 0
    const deadline = performance.now() + MAX_SECONDS * 1000
    for (let from = 0; from < distinctKeys && performance.now() < deadline; from += stepLength) {
      let ns = 0n
      for (let i = from; i < from + stepLength; i += CALLS_PER_TURN) {
        const started = process.hrtime.bigint()
        for (let n = i; n < i + CALLS_PER_TURN; n++) {
          const decision = limiter.checkSync(`flood:${n}`)
          if (!decision.allowed || decision.remaining !== LIMIT - 1) wrong.fresh++
        }
        ns += process.hrtime.bigint() - started
        if (i % visitEvery === 0) wrong.visitors += visit(limiter, `visitor:${visitors++}`)
        await turn()
      }
      for (let i = 0; i < WATCHED; i++) {
        if (limiter.checkSync(`limited:${i}`).allowed) wrong.limited++
        if (limiter.checkSync(`half:${i}`, { cost: 0 }).remaining !== LIMIT - 6) wrong.halfUsed++
      }
      // A client that came in the middle of the flood and used up its limit is still known at the end.
      for (let i = 0; i < visitors; i++) if (limiter.checkSync(`visitor:${i}`).allowed) wrong.visitors++
      collectGarbage()
      await turn()
      steps.push({
        checks: from + stepLength,
        rssMiB: process.memoryUsage().rss / 2 ** 20,
        heldKeys: store.stats.keys,
        nsPerCheck: Number(ns) / stepLength,
      })
    }
    const { evicted, refused } = store.stats
    return {
      steps,
      evicted,
      refused,
      wrong,
      checked: { watched: 2 * WATCHED, visitors, fresh: steps.at(-1)?.checks ?? 0 },
    }
  },
})

/**
 * Exactly the limit passes. Returns the number of wrong answers.
 * @param {import("sluice").Limiter} limiter
 * @param {string} key
 */
function visit(limiter, key) {
  let wrong = 0
  for (let n = 0; n <= LIMIT; n++) if (limiter.checkSync(key).allowed !== n < LIMIT) wrong++
  return wrong
}
