// The goal of the middlewares, compared with the figures of one run.

import { atMost } from "../harness/goals.mjs"
import { contenders } from "./contenders.mjs"

/** @typedef {import("../harness/goals.mjs").Verdict} Verdict */
/** @typedef {import("./run.mjs").Figures} Figures */

/** The most that a middleware may lose with the peer's headers, as a share of what the peer loses. */
const MAX_SHARE = 0.75
const STATES = /** @type {const} */ (["fresh", "settled"])

/**
 * Judges only what was measured.
 * @param {Figures} figures
 * @returns {Verdict[]}
 */
export function judge({ timings }) {
  /** @type {Verdict[]} */
  const verdicts = []
  for (const state of STATES) {
    /** @type {(framework: string, name: string | undefined) => number | undefined} */
    const lostBy = (framework, name) =>
      timings.find((t) => t.framework === framework && t.contender === name)?.[state].lost
    for (const { framework, name, isPromised } of contenders) {
      const lost = lostBy(framework, name)
      const peer = contenders.find((c) => c.framework === framework && c.kind === "peer")?.name
      const lostByPeer = lostBy(framework, peer)
      if (!isPromised || lost === undefined || lostByPeer === undefined) continue
      const goal = `${state}: ${framework}, ${name}: loses at most ${MAX_SHARE} × what ${peer} loses`
      verdicts.push(atMost(goal, lost, MAX_SHARE * lostByPeer, "%"))
    }
  }
  return verdicts
}
