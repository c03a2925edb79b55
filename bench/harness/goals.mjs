// Goals are ratios and bounds that figures are held against. A missed goal is shown, and fails the run only on request.

/** @typedef {{ goal: string, target: string, measured: string, met: boolean }} Verdict */

/**
 * @param {string} goal
 * @param {number} measured
 * @param {number} target
 * @param {string} [unit]
 * @returns {Verdict}
 */
export function atLeast(goal, measured, target, unit = "×") {
  return {
    goal,
    target: `≥ ${shown(target)} ${unit}`,
    measured: `${shown(measured)} ${unit}`,
    met: measured >= target,
  }
}

/**
 * @param {string} goal
 * @param {number} measured
 * @param {number} target
 * @param {string} unit
 * @returns {Verdict}
 */
export function atMost(goal, measured, target, unit) {
  return {
    goal,
    target: `≤ ${shown(target)} ${unit}`,
    measured: `${shown(measured)} ${unit}`,
    met: measured <= target,
  }
}

/**
 * Three digits are what a benchmark can know.
 * @param {number} value
 */
export function shown(value) {
  if (!Number.isFinite(value)) return String(value)
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US")
  return String(Number(value.toPrecision(3)))
}

/**
 * @param {readonly Verdict[]} verdicts
 * @returns {import("./table.mjs").Table}
 */
export function goalTable(verdicts) {
  return {
    title: "Goals",
    head: ["", "goal", "measured", "met"],
    rows: verdicts.map(({ goal, target, measured, met }) => [goal, target, measured, met ? "yes" : "NO"]),
  }
}
