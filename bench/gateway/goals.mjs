// What Sluice promises of its gateway, held against the figures of one run.

import { atLeast, atMost } from "../harness/goals.mjs"

/** @typedef {import("../harness/goals.mjs").Verdict} Verdict */
/** @typedef {import("./run.mjs").Figures} Figures */

const OF_NODE_PROXIES = 2
const OF_NGINX = 0.35
const CHECK_PERCENT = 5
const DENIED = 2
const NODE_PROXIES = ["http-proxy-3", "http-proxy", "@fastify/http-proxy", "fast-proxy"]

/**
 * Only what was measured is judged.
 * @param {Figures} figures
 * @returns {Verdict[]}
 */
export function judge({ timings }) {
  /** @param {string} name @param {string} contender */
  const ratioOf = (name, contender) =>
    timings.find((one) => one.case === name && one.contender === contender)?.ratio
  /** @type {Verdict[]} */
  const verdicts = []
  if (ratioOf("forward", "sluice") !== undefined) {
    const peers = NODE_PROXIES.flatMap((peer) => ratioOf("forward", peer) ?? [])
    const silent = ratioOf("forward", "sluice, no log")
    if (peers.length > 0 && silent !== undefined)
      verdicts.push(
        atLeast(
          "with a rule and no log, of the fastest proxy of npm, which has neither",
          silent / Math.max(...peers),
          OF_NODE_PROXIES,
        ),
      )
    const nginx = ratioOf("forward", "nginx")
    if (nginx !== undefined)
      verdicts.push(atLeast("with a rule, of nginx with limit_req", 1 / nginx, OF_NGINX))
  }
  const bare = ratioOf("check", "sluice, no rules")
  if (bare !== undefined)
    verdicts.push(
      atMost("what a rule costs, of the same gateway without", (1 - 1 / bare) * 100, CHECK_PERCENT, "%"),
    )
  const denied = ratioOf("denied", "sluice, denied")
  if (denied !== undefined) verdicts.push(atLeast("denied requests, of forwarded ones", denied, DENIED))
  return verdicts
}
