// Child process: one contender in one case.

import { answer, collectGarbage } from "../harness/child.mjs"
import { timeCalls, turn } from "../harness/measure.mjs"
import { keyOf, keySequence, termsFor } from "./cases.mjs"
import { contenderNamed } from "./contenders.mjs"

/**
 * @typedef {object} Detail
 * @property {string} contender
 * @property {import("./cases.mjs").Case} timingCase
 * @property {import("./cases.mjs").Answer} expected
 */

/** @type {() => Promise<import("../harness/rounds.mjs").Sample>} */
let measureOnce

answer({
  async prepare(/** @type {Detail} */ { contender, timingCase, expected }) {
    const subject = await contenderNamed(contender).open(termsFor(expected, timingCase.keys))
    const keyAt = keySequence(timingCase)
    // Every key is there before the clock starts: the case is a full table, not a growing one.
    await timeCalls(subject, keyOf, 0, Math.max(timingCase.keys, 2))
    let from = 0
    const round = async (/** @type {number} */ calls) => {
      const sample = await timeCalls(subject, keyAt, from, calls)
      from += calls
      return sample
    }
    await round(timingCase.calls / 2)
    measureOnce = async () => {
      collectGarbage()
      await turn()
      const sample = await round(timingCase.calls)
      if (contenderNamed(contender).kind !== "baseline") requireAnswer(sample, contender, expected)
      return sample
    }
    collectGarbage()
  },
  measure: () => measureOnce(),
})

/**
 * A figure for "denied" is worth nothing if calls were allowed.
 * @param {import("../harness/rounds.mjs").Sample} sample
 * @param {string} contender
 * @param {import("./cases.mjs").Answer} expected
 */
function requireAnswer({ allowedShare }, contender, expected) {
  const share = expected === "allowed" ? allowedShare : 1 - allowedShare
  if (share > 0.999) return
  throw new Error(
    `${contender}: ${(share * 100).toFixed(1)} % ${expected}, expected all (did the run cross midnight UTC?)`,
  )
}
