// Child process: one contender in all cases.

import { answer, collectGarbage } from "../harness/child.mjs"
import { keySequence, MANY, termsFor } from "./cases.mjs"
import { contenderNamed, openIoredis } from "./contenders.mjs"
import { load } from "./load.mjs"
import { startCounting } from "./server-counters.mjs"

/**
 * @typedef {object} Sample
 * @property {number} perSecond
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number} serverMicros     commands ran on the server, per check
 * @property {number} serverCpuMicros  processor time of the server, per check
 * @property {number} clientCpuMicros  processor time of this process, per check
 * @property {number} callsPerCheck
 */

/** @typedef {{ contender: string, address: import("./contenders.mjs").Address }} Opening */
/** @typedef {{ timingCase: import("./cases.mjs").Case, ms: number }} Round */

/** @type {string} */
let contender
/** @type {import("./contenders.mjs").Address} */
let address
/** @type {import("ioredis").Redis} */
let admin
/** @type {Map<string, import("./load.mjs").Subject<any>>} */
const subjects = new Map()

answer({
  async open(/** @type {Opening} */ opening) {
    contender = opening.contender
    address = opening.address
    admin = await openIoredis(address)
  },

  /** @returns {Promise<Sample>} */
  async measure(/** @type {Round} */ { timingCase, ms }) {
    const { answer: expected, inFlight, keys } = timingCase
    const subject = await subjectFor(expected)
    const keyAt = keySequence(keys)
    await admin.flushdb()
    // Every key is there before the clock starts, and a limit of 1 is used up.
    await load(subject, keyAt, { inFlight: 64, checks: keys === "many" ? MANY : 1 })
    await load(subject, keyAt, { inFlight, ms: ms / 5 })
    collectGarbage()
    const counted = await startCounting(admin, contenderNamed(contender).command ?? "evalsha")
    const result = await load(subject, keyAt, { inFlight, ms })
    const { calls, usec, cpuMicros } = await counted()
    const { checks, allowed, seconds, p50Ms, p99Ms, clientMicros } = result
    const right = expected === "allowed" ? allowed : checks - allowed
    if (right !== checks) throw new Error(`${contender}: ${right} of ${checks} checks ${expected}`)
    return {
      perSecond: checks / seconds,
      p50Ms,
      p99Ms,
      serverMicros: usec / checks,
      serverCpuMicros: cpuMicros / checks,
      clientCpuMicros: clientMicros / checks,
      callsPerCheck: calls / checks,
    }
  },
})

/** @param {import("./cases.mjs").Case["answer"]} expected */
async function subjectFor(expected) {
  let subject = subjects.get(expected)
  if (subject === undefined) {
    subject = await contenderNamed(contender).open(termsFor(expected), address)
    subjects.set(expected, subject)
  }
  return subject
}
