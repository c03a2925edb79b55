// What Sluice promises of its middlewares, held against the figures of one run.

import { atMost } from "../harness/goals.mjs"
import { contenders } from "./contenders.mjs"

/** @typedef {import("../harness/goals.mjs").Verdict} Verdict */
/** @typedef {import("./run.mjs").Figures} Figures */

/** Of the peer's loss, with the same headers. @type {Record<string, number>} */
const SHARES = { express: 0.5, fastify: 1, hono: 0.75 }
const MOST_LOST_ON_FASTIFY = 5
const STATES = /** @type {const} */ (["fresh", "settled"])

/**
 * Only what was measured is judged.
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
    for (const { framework, name, kind, isPromised } of contenders) {
      const lost = lostBy(framework, name)
      const peer = contenders.find((c) => c.framework === framework && c.kind === "peer")?.name
      const lostByPeer = lostBy(framework, peer)
      if (kind !== "sluice" || lost === undefined || lostByPeer === undefined) continue
      const share = isPromised ? SHARES[framework] : 1
      const against = share === 1 ? "as much as" : `${share} × what`
      const title = `${state}: ${framework}, ${name}`
      const most = `loses at most ${against} ${peer}${share === 1 ? "" : " loses"}`
      verdicts.push(atMost(`${title}: ${most}`, lost, share * lostByPeer, "%"))
      if (framework === "fastify")
        verdicts.push(atMost(`${title}: requests per second lost`, lost, MOST_LOST_ON_FASTIFY, "%"))
    }
  }
  return verdicts
}
