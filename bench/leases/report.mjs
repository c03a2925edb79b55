// The goals of leases, and the tables of their figures.

import { atLeast, atMost, goalTable, shown } from "../harness/goals.mjs"
import { contenders } from "./subjects.mjs"

export const caseNames = ["hot", "calls", "use", "zipf", "bytes"]

/** @typedef {import("./run.mjs").Figures} Figures */

export function callTable() {
  return {
    title: "Contenders",
    head: ["", "call"],
    rows: contenders.map(({ name, call }) => [name, call]),
  }
}

/** @param {Figures} figures */
export function judge({ hot, calls, use, zipf, bytes }) {
  const of = (/** @type {string} */ answer, /** @type {string} */ name) =>
    hot.find((entry) => entry.answer === answer && entry.contender === name)
  const verdicts = []
  for (const answer of ["allowed", "denied"]) {
    const plain = of(answer, "plain")
    const leases = of(answer, "leases")
    const either = of(answer, "leases, checkEither")
    if (plain && leases)
      verdicts.push(
        atLeast(`hot key, ${answer}: check ÷ plain, 512 in flight`, leases.perSecond / plain.perSecond, 20),
      )
    if (plain && either)
      verdicts.push(
        atLeast(
          `hot key, ${answer}: checkEither ÷ plain, 512 in flight`,
          either.perSecond / plain.perSecond,
          20,
        ),
      )
    if (either) verdicts.push(atLeast(`hot key, ${answer}: checkEither`, either.perSecond / 1e6, 5, "M/s"))
  }
  const memory = of("allowed", "memory")
  const held = of("allowed", "leases, checkEither")
  if (memory?.p99Ns && held?.p99Ns)
    verdicts.push(
      atMost("p99 of a check while a lease is held ÷ memory", held.p99Ns / memory.p99Ns, 1.1, "×"),
    )
  for (const { checks, calls: made } of calls)
    verdicts.push(atMost("calls per 100 checks at 10,000 checks a second", (100 * made) / checks, 1, ""))
  for (const { demand, contender, share } of use)
    if (contender === "leases")
      verdicts.push(atLeast(`use, ${demand} demand: leases ÷ plain`, 100 * share, 97, "%"))
  const [plain, leased] = zipf
  if (plain && leased)
    verdicts.push(atLeast("10,000 keys, Zipf: leases ÷ plain", leased.perSecond / plain.perSecond, 1))
  for (const { perKey } of bytes) verdicts.push(atMost("memory of a leased key", perKey, 200, "bytes"))
  return verdicts
}

/**
 * @param {Figures} figures
 * @param {readonly import("../harness/goals.mjs").Verdict[]} verdicts
 */
export function tables({ hot, use, zipf, calls, bytes }, verdicts) {
  const list = []
  if (hot.length > 0) {
    list.push({
      title: "One hot key",
      head: ["", "allowed, checks a second", "denied, checks a second", "median ns", "p99 ns"],
      rows: contenders.map(({ name }) => {
        const own = (/** @type {string} */ answer) =>
          hot.find((entry) => entry.contender === name && entry.answer === answer)
        const ns = (/** @type {number | undefined} */ value) => (value === undefined ? "–" : shown(value))
        return [
          name,
          shown(own("allowed")?.perSecond ?? Number.NaN),
          shown(own("denied")?.perSecond ?? Number.NaN),
          ns(own("allowed")?.p50Ns),
          ns(own("allowed")?.p99Ns),
        ]
      }),
      note: "512 checks in flight. Nanoseconds: a check that is answered at once, as the mean of 100 in a row. The async function does nothing: it shows what promises alone allow.",
    })
  }
  if (use.length > 0) {
    list.push({
      title: "8 instances with twice the demand of the limit",
      head: ["", "admitted", "of plain"],
      rows: use.map(({ demand, contender, admitted, share }) => [
        `${demand}: ${contender}`,
        shown(admitted),
        `${shown(100 * share)} %`,
      ]),
    })
  }
  if (zipf.length > 0) {
    list.push({
      title: "10,000 keys with Zipf demand, 64 in flight",
      head: ["", "checks a second", "processor time of a check"],
      rows: zipf.map(({ contender, perSecond, cpuMicros }) => [
        contender,
        shown(perSecond),
        `${shown(cpuMicros)} µs`,
      ]),
    })
  }
  const rows = [
    ...calls.map(({ checks, calls: made }) => [
      "calls for 10,000 checks a second",
      `${shown(checks / made)} checks a call`,
    ]),
    ...bytes.map(({ perKey, leased }) => [`memory of a key (${leased} leased)`, `${shown(perKey)} bytes`]),
  ]
  if (rows.length > 0) list.push({ title: "Calls and memory", head: ["", ""], rows })
  return [...list, goalTable(verdicts)]
}
