// What Sluice promises about replays, held against the figures of one run.

import { atLeast, atMost } from "../harness/goals.mjs"

/**
 * @param {import("./run.mjs").Figures} figures
 * @returns {import("../harness/goals.mjs").Verdict[]}
 */
export function judge({ speeds, memory }) {
  const combined = speeds.find(({ name }) => name === "combined")
  return [
    ...(combined === undefined
      ? []
      : [atLeast("combined, three rules, one core", combined.linesPerSecond, 200_000, "lines/s")]),
    ...(memory === undefined
      ? []
      : [
          atMost(
            "peak memory for ten times the log",
            memory.large.peakBytes / memory.small.peakBytes,
            1.25,
            "×",
          ),
        ]),
  ]
}
