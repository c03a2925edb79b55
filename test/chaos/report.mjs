// The figures of one run as tables, compared with their goals.

import { atMost } from "../../bench/harness/goals.mjs"

/** @typedef {import("./chaos.js").ChaosFigures} ChaosFigures */
/** @typedef {import("../../bench/harness/table.mjs").Table} Table */
/** @typedef {import("../../bench/harness/goals.mjs").Verdict} Verdict */

const DEADLINE_MS = 50
const FROZEN = "frozen (SIGSTOP)"

/**
 * @param {ChaosFigures} figures
 * @returns {Verdict[]}
 */
export function judge({ faults, fleets, unhandledRejections }) {
  const frozen = faults.find(({ fault }) => fault === FROZEN)
  const slow = faults.filter(({ fault }) => fault.startsWith("slow"))
  const most = (/** @type {(one: any) => number | undefined} */ of, list = faults) =>
    Math.max(...list.map((one) => of(one) ?? Number.NEGATIVE_INFINITY))
  const total = (/** @type {(one: any) => number} */ of) => faults.reduce((sum, one) => sum + of(one), 0)
  const wait = (/** @type {{ backAfterMs?: number }} */ { backAfterMs }) =>
    backAfterMs ?? Number.POSITIVE_INFINITY
  return [
    ...(frozen
      ? [
          atMost(`${FROZEN}: worst added latency`, frozen.worstAddedMs, DEADLINE_MS + 10, "ms"),
          atMost(`${FROZEN}: p99 once open`, frozen.p99OpenMs ?? Number.POSITIVE_INFINITY, 1, "ms"),
        ]
      : []),
    ...(faults.length > 0
      ? [
          atMost(
            "open after the first failure, every fault",
            most(({ openAfterMs }) => openAfterMs),
            250,
            "ms",
          ),
          atMost("back to shared decisions, every fault", most(wait), 2_000, "ms"),
          atMost(
            "admitted in the worst window, every fault",
            most((one) => one.worstWindow / one.limit),
            2,
            "× limit",
          ),
          atMost(
            "admitted by deny without Redis",
            total(({ denyAdmitted }) => denyAdmitted),
            0,
            "checks",
          ),
          atMost(
            "rejected or never answered",
            total((one) => one.rejected + one.unanswered),
            0,
            "checks",
          ),
          atMost("unhandled rejections", unhandledRejections, 0, ""),
          atMost(
            "keys without an expiry",
            total(({ permanentKeys }) => permanentKeys),
            0,
            "keys",
          ),
        ]
      : []),
    ...(slow.length > 0
      ? [
          atMost(
            "slow: calls of Redis, compared with before",
            most(({ loadRatio }) => loadRatio, slow),
            1.1,
            "×",
          ),
        ]
      : []),
    ...fleets.flatMap(({ fleet, instances, limit, healthy, steady, change }) => [
      atMost(`${fleet}: healthy`, healthy, limit, "per window"),
      atMost(`${fleet}: while Redis is away`, steady, limit + instances, "per window"),
      atMost(`${fleet}: window of the change`, change, 2 * limit, "per window"),
    ]),
  ]
}

/**
 * @param {ChaosFigures} figures
 * @param {readonly Verdict[]} verdicts
 * @returns {Table[]}
 */
export function tables(figures, verdicts) {
  return [faultTable(figures), fleetTable(figures), goalTable(verdicts)].filter(({ rows }) => rows.length > 0)
}

/**
 * @param {ChaosFigures} figures
 * @returns {Table}
 */
function faultTable({ plan, rounds, faults }) {
  return {
    title: "One instance, Redis broken under load",
    head: [
      "fault",
      "worst added, ms",
      "p99 once open, ms",
      "to open, ms",
      "degraded for, s",
      "back to shared, ms",
      "over-admission",
      "ambiguous",
      "loop blocked, ms",
    ],
    rows: faults.map((one) => [
      one.fault,
      tenths(one.worstAddedMs),
      one.p99OpenMs === undefined ? "–" : one.p99OpenMs.toFixed(2),
      one.openAfterMs === undefined ? "–" : tenths(one.openAfterMs),
      tenths(one.degradedMs / 1_000),
      one.backAfterMs === undefined ? "never" : String(Math.round(one.backAfterMs)),
      one.worstWindow <= one.limit ? "0" : `${one.worstWindow - one.limit} of ${one.limit}`,
      `${one.ambiguous} of ${one.checks.toLocaleString("en-US")}`,
      tenths(one.lagMs),
    ]),
    note: [
      `${plan.perSecond} checks a second for ${plan.faultMs / 1_000} s of each fault, a third of them each with \`local\`, \`allow\` and \`deny\`; half of them on one key with ${plan.limit} per ${plan.windowMs / 1_000} s (an exact sliding log and a token bucket in each check).`,
      `Deadline ${DEADLINE_MS} ms, seed ${plan.seed}, ${rounds === 1 ? "1 round" : `the worst of ${rounds} rounds`}.`,
      "Latencies are those of the caller, less the time in which our own event loop was blocked; the longest such pause is in the last column. To open: from the first failed check to the opening of the breaker. Degraded: from the first check that was answered without Redis to the last, which includes the fault itself. Back: from the return of Redis (in Sentinel and Cluster, from when all nodes agree on the new primary) until 99 of 100 checks are shared. Over-admission: the most that `local` admitted of the busy key in any window, beyond the limit. “–”: the breaker stayed closed.",
    ].join(" "),
  }
}

/**
 * @param {ChaosFigures} figures
 * @returns {Table}
 */
function fleetTable({ fleets }) {
  const [first] = fleets
  return {
    title: `${first?.instances ?? 4} instances on one key, \`local\``,
    head: [
      "",
      "limit",
      "most per window: healthy",
      "Redis away",
      "window of the change",
      "checks",
      "ambiguous",
    ],
    rows: fleets.map((one) => [
      one.fleet,
      `${one.limit} per ${one.windowMs / 1_000} s`,
      String(one.healthy),
      String(one.steady),
      String(one.change),
      one.checks.toLocaleString("en-US"),
      String(one.ambiguous),
    ]),
    note: "Real processes; what all of them admitted together.",
  }
}

/**
 * @param {readonly Verdict[]} verdicts
 * @returns {Table}
 */
function goalTable(verdicts) {
  return {
    title: "Goals",
    head: ["", "goal", "measured", "met"],
    rows: verdicts.map(({ goal, target, measured, met }) => [goal, target, measured, met ? "yes" : "NO"]),
  }
}

/** @param {number} ms */
function tenths(ms) {
  return ms.toFixed(1)
}
