// The goals of the gateway, held against the figures of one run. What a rule costs and how fast denials are is shown in the
// tables without a goal.

import { atLeast } from "../harness/goals.mjs"

/** @typedef {import("../harness/goals.mjs").Verdict} Verdict */
/** @typedef {import("./run.mjs").Figures} Figures */

const OF_NODE_PROXIES = 2
const OF_NGINX = 0.5
const NODE_PROXIES = ["http-proxy-3", "http-proxy", "@fastify/http-proxy", "fast-proxy"]

/**
 * Judges only what was measured.
 * @param {Figures} figures
 * @returns {Verdict[]}
 */
export function judge({ timings }) {
  /** @param {string} contender */
  const ratioOf = (contender) =>
    timings.find((one) => one.case === "forward" && one.contender === contender)?.ratio
  /** @type {Verdict[]} */
  const verdicts = []
  if (ratioOf("sluice") === undefined) return verdicts
  const peers = NODE_PROXIES.flatMap((peer) => ratioOf(peer) ?? [])
  const silent = ratioOf("sluice, no log")
  if (peers.length > 0 && silent !== undefined)
    verdicts.push(
      atLeast(
        "with a rule and no log, of the fastest proxy of npm, which has neither",
        silent / Math.max(...peers),
        OF_NODE_PROXIES,
      ),
    )
  const nginx = ratioOf("nginx")
  if (nginx !== undefined) verdicts.push(atLeast("with a rule, of nginx with limit_req", 1 / nginx, OF_NGINX))
  return verdicts
}
