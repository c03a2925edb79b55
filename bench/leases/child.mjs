// Child process: one contender, or one instance of a fleet.

import { answer, collectGarbage } from "../harness/child.mjs"
import { percentile } from "../harness/statistics.mjs"
import { load } from "../redis/load.mjs"
import { openLimiter, openSubject } from "./subjects.mjs"

/** @type {import("./subjects.mjs").Subject} */
let subject

/** Checks between two turns of the event loop: about a tenth of a millisecond at five million a second. */
const AT_ONCE = 500
/** Checks whose times are averaged: the clock is not fine enough for one. */
const TIMED = 100

const turn = () => new Promise((resolve) => setImmediate(resolve))

answer({
  /** @param {{ name: string, port: number, answer: "allowed" | "denied" }} detail */
  open({ name, port, answer }) {
    subject = openSubject(name, port, answer)
  },

  /** @param {{ name: string, port: number, limit: object }} detail */
  openLimiter({ name, port, limit }) {
    subject = openLimiter(name, port, limit)
  },

  /** One hot key: how many checks a second. @param {{ ms: number, inFlight: number }} detail */
  async hot({ ms, inFlight }) {
    for (let i = 0; i < 200; i++) await settled("hot")
    const { check } = subject
    let count = 0
    // Checks that are answered at once would never let the timer fire that ends the load.
    const inTurns = (/** @type {string} */ key) =>
      ++count % AT_ONCE === 0 ? turn().then(() => check(key)) : check(key)
    const { checks, seconds } = await load({ ...subject, check: inTurns }, () => "hot", { inFlight, ms })
    return { perSecond: checks / seconds }
  },

  /** The same without a promise where none is needed, and the time of a check. @param {{ ms: number }} detail */
  async atOnce({ ms }) {
    for (let i = 0; i < 20_000; i++) await settled("hot")
    const { check } = subject
    const until = performance.now() + ms
    const started = performance.now()
    let checks = 0
    /** @type {number[]} */
    const times = []
    while (performance.now() < until) {
      for (let block = 0; block < AT_ONCE / TIMED; block++) {
        const before = performance.now()
        let waited = false
        for (let i = 0; i < TIMED; i++) {
          const decision = check("hot")
          if (decision instanceof Promise) {
            waited = true
            await decision
          }
        }
        checks += TIMED
        if (!waited) times.push((performance.now() - before) / TIMED)
      }
      await turn()
    }
    const perSecond = checks / ((performance.now() - started) / 1_000)
    return { perSecond, p50Ns: percentile(times, 0.5) * 1e6, p99Ns: percentile(times, 0.99) * 1e6 }
  },

  /** A key with a steady demand: how many calls it takes. @param {{ ms: number, perSecond: number }} detail */
  async steady({ ms, perSecond }) {
    const started = performance.now()
    let checks = 0
    let answered = 0
    while (performance.now() - started < ms) {
      const due = ((performance.now() - started) / 1_000) * perSecond
      while (checks < due) {
        checks++
        void Promise.resolve(subject.check("steady")).then(() => answered++)
      }
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    while (answered < checks) await turn()
    return { checks }
  },

  /** One instance of a fleet with more demand than the limit. @param {{ ms: number, perSecond: number }} detail */
  async demand({ ms, perSecond }) {
    const started = performance.now()
    let checks = 0
    let answered = 0
    let allowed = 0
    while (performance.now() - started < ms) {
      const due = ((performance.now() - started) / 1_000) * perSecond
      while (checks < due) {
        checks++
        void Promise.resolve(subject.check("shared")).then((decision) => {
          answered++
          if (subject.isAllowed(decision)) allowed++
        })
      }
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    while (answered < checks) await turn()
    return { checks, allowed }
  },

  /** Many keys, few of them hot. @param {{ keys: number, checks: number }} detail */
  async zipf({ keys, checks }) {
    const names = Array.from({ length: keys }, (_, i) => `user:${i}`)
    const ranks = zipfRanks(keys, checks)
    const before = process.cpuUsage()
    const { seconds } = await load(subject, (i) => names[ranks[i] ?? 0] ?? "", { inFlight: 64, checks })
    const { user, system } = process.cpuUsage(before)
    return { perSecond: checks / seconds, cpuMicros: (user + system) / checks, leases: subject.leases() }
  },

  /** What a leased key takes in the memory of this process. @param {{ keys: number }} detail */
  async bytes({ keys }) {
    // Strings exist anyway: the application made them.
    const names = Array.from({ length: keys }, (_, i) => `user:${i}`)
    for (const name of names) new Map().set(name, 0)
    await subject.check("warm")
    collectGarbage()
    const before = memory()
    let leases = subject.leases()
    for (let round = 0; round < 4 && (leases?.keys ?? 0) < keys * 0.9; round++) {
      for (let i = 0; i < 3; i++) await Promise.all(names.map((name) => subject.check(name)))
      leases = subject.leases()
    }
    collectGarbage()
    return { perKey: (memory() - before) / keys, leased: leases?.keys ?? 0 }
  },

  async close() {
    const leases = subject.leases()
    await subject.close()
    return { leases }
  },
})

function memory() {
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** @param {string} key */
async function settled(key) {
  try {
    await subject.check(key)
  } catch (denial) {
    if (denial instanceof Error) throw denial
  }
}

/**
 * @param {number} keys
 * @param {number} count
 */
function zipfRanks(keys, count) {
  const sums = new Float64Array(keys)
  let sum = 0
  for (let i = 0; i < keys; i++) {
    sum += 1 / (i + 1)
    sums[i] = sum
  }
  let state = 1
  return Uint32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    const wanted = (state / 2 ** 32) * sum
    let low = 0
    let high = keys - 1
    while (low < high) {
      const middle = (low + high) >> 1
      if ((sums[middle] ?? 0) < wanted) low = middle + 1
      else high = middle
    }
    return low
  })
}
