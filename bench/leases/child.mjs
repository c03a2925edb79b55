// Child process: one contender, or one instance of a fleet.

import { answer, collectGarbage } from "../harness/child.mjs"
import { percentile } from "../harness/statistics.mjs"
import { load } from "../redis/load.mjs"
import { openLimiter, openSubject } from "./subjects.mjs"

/** @type {import("./subjects.mjs").Subject} */
let subject

/** Checks between two turns of the event loop, which reads answers of Redis: about a millisecond. */
const AT_ONCE = 5_000
/** Checks whose times are averaged: the clock is not fine enough for one. */
const TIMED = 100
const BLOCKS = 5
/** Until the demand of the key is known, leases are small. */
const WARM_MS = 300

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Lets the event loop turn every now and then. Checks that are answered at once would never let it. */
class Turns {
  /** What all checks wait for while it is set. @type {Promise<void> | undefined} */
  due
  #checks = 0

  count() {
    if (++this.#checks % AT_ONCE !== 0) return
    this.due ??= turn().then(() => {
      this.due = undefined
    })
  }
}

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
    const { check } = subject
    const turns = new Turns()
    const inTurns = (/** @type {string} */ key) => {
      turns.count()
      return turns.due === undefined ? check(key) : turns.due.then(() => check(key))
    }
    const run = (/** @type {number} */ time) =>
      load({ ...subject, check: inTurns }, () => "hot", { inFlight, ms: time })
    await run(WARM_MS)
    const { checks, seconds } = await run(ms)
    return { perSecond: checks / seconds }
  },

  /** The same without a promise where none is needed. @param {{ ms: number, inFlight: number }} detail */
  async either({ ms, inFlight }) {
    const { check } = subject
    const turns = new Turns()
    let checks = 0
    let isOver = false
    const worker = async () => {
      while (!isOver) {
        const decision = check("hot")
        checks++
        if (decision instanceof Promise) await decision
        turns.count()
        if (turns.due !== undefined) await turns.due
      }
    }
    const workers = Array.from({ length: inFlight }, worker)
    await new Promise((resolve) => setTimeout(resolve, WARM_MS))
    const started = performance.now()
    const before = checks
    await new Promise((resolve) => setTimeout(resolve, ms))
    const perSecond = (checks - before) / ((performance.now() - started) / 1_000)
    isOver = true
    await Promise.all(workers)
    return { perSecond }
  },

  /** The time of a check that is answered at once. @param {{ ms: number }} detail */
  async times({ ms }) {
    for (let i = 0; i < 20_000; i++) await settled("hot")
    const { check } = subject
    const until = performance.now() + ms
    /** @type {number[]} */
    const times = []
    while (performance.now() < until) {
      // After a turn of the event loop, the first checks find the caches of the processor full of other things.
      for (let block = 0; block < BLOCKS; block++) {
        const before = performance.now()
        let waited = false
        for (let i = 0; i < TIMED; i++) {
          const decision = check("hot")
          if (decision instanceof Promise) {
            waited = true
            await decision
          }
        }
        if (!waited) times.push((performance.now() - before) / TIMED)
      }
      await turn()
    }
    return { p50Ns: percentile(times, 0.5) * 1e6, p99Ns: percentile(times, 0.99) * 1e6 }
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
    // Strings exist anyway: the application made them. The first leases load code and fill caches.
    const warm = namesOf("warm", 2_000)
    const names = namesOf("user", keys)
    await leaseAll(warm)
    await settle()
    const before = memory()
    await leaseAll(names)
    await settle()
    const perKey = (memory() - before) / keys
    return { perKey, leased: (subject.leases()?.keys ?? 0) - warm.length }
  },

  async close() {
    const leases = subject.leases()
    await subject.close()
    return { leases }
  },
})

/**
 * @param {string} prefix
 * @param {number} count
 */
function namesOf(prefix, count) {
  const names = Array.from({ length: count }, (_, i) => `${prefix}:${i}`)
  for (const name of names) new Map().set(name, 0)
  return names
}

/**
 * Checks keys until each has a lease.
 * @param {readonly string[]} names
 */
async function leaseAll(names) {
  for (let round = 0; round < 5; round++)
    for (let i = 0; i < names.length; i += 200)
      await Promise.all(names.slice(i, i + 200).map((name) => subject.check(name)))
}

/** Collects garbage until timers and sockets have let go of theirs. */
async function settle() {
  for (let i = 0; i < 5; i++) {
    collectGarbage()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

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
