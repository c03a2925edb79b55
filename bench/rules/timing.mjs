// Child process: one rule set of one size.

import { answer, collectGarbage } from "../harness/child.mjs"
import { turn } from "../harness/measure.mjs"
import { median, percentile } from "../harness/statistics.mjs"
import { mixNamed, requestSource, rulesOf } from "./cases.mjs"

/** Made, then looked up and timed, over and over: few enough to be at hand, as the request being served always is. */
const BATCH = 64

/** The last result. Exported, so that it counts as used. */
export const kept = { matched: 0 }

/** @type {(lookups: number) => Promise<object>} */
let measureOnce
let lookupsPerRound = 0

answer({
  async prepare(
    /** @type {{ matcher: string, mix: string, size: number, lookups: number }} */
    { matcher: url, mix: name, size, lookups },
  ) {
    /** @type {import("./matcher.mjs").Matching} */
    const { compileMatcher } = await import(url)
    const mix = mixNamed(name)
    const specs = rulesOf(mix, size)
    const before = performance.now()
    const matcher = compileMatcher(specs)
    const compileMs = performance.now() - before
    const next = requestSource(mix, size, "zipf")
    const nextEven = requestSource(mix, size, "even")
    for (let i = 0; i < size; i++) {
      const facts = nextEven()
      if (matcher.match(facts).length === 0)
        throw new Error(`${name}: ${facts.host}${facts.path} meets no rule`)
    }
    lookupsPerRound = lookups
    measureOnce = async (lookups) => {
      const nsPerCall = timeTogether(matcher, next, lookups)
      await turn()
      const alone = timeAlone(matcher, next, Math.min(lookups, 2 ** 16))
      const even = timeTogether(matcher, nextEven, lookups / 2)
      return { nsPerCall, allowedShare: 1, ...alone, even, compileMs }
    }
    await measureOnce(lookups / 2)
    collectGarbage()
  },
  measure: () => measureOnce(lookupsPerRound),
})

/**
 * Nanoseconds per lookup.
 * @param {import("../../packages/sluice/dist/rules/match/index.js").Matcher} matcher
 * @param {() => import("./cases.mjs").RequestFacts} next
 * @param {number} lookups
 */
function timeTogether(matcher, next, lookups) {
  const batch = Array.from({ length: BATCH }, next)
  let ms = 0
  let matched = 0
  for (let done = 0; done < lookups; done += BATCH) {
    for (let i = 0; i < BATCH; i++) batch[i] = next()
    const started = performance.now()
    for (let i = 0; i < BATCH; i++) matched += matcher.match(batch[i]).length
    ms += performance.now() - started
  }
  kept.matched = matched
  return (ms * 1e6) / lookups
}

/**
 * Lookups that are timed one by one, in nanoseconds, less what reading the clock takes.
 * @param {import("../../packages/sluice/dist/rules/match/index.js").Matcher} matcher
 * @param {() => import("./cases.mjs").RequestFacts} next
 * @param {number} lookups
 */
function timeAlone(matcher, next, lookups) {
  /** @type {number[]} */
  const clock = []
  /** @type {number[]} */
  const times = []
  let matched = 0
  for (let i = 0; i < lookups; i++) {
    const facts = next()
    const before = performance.now()
    const started = performance.now()
    matched += matcher.match(facts).length
    times.push(performance.now() - started)
    clock.push(started - before)
  }
  kept.matched = matched
  const alone = (/** @type {number} */ ms) => (ms - median(clock)) * 1e6
  return { typical: alone(median(times)), p99: alone(percentile(times, 0.99)) }
}
