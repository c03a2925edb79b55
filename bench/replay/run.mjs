// Writes the logs, replays each in processes of their own, and removes them again. Progress goes to stderr.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { askOnce } from "../harness/child.mjs"
import { say } from "../harness/command.mjs"
import { twoCores } from "../harness/cores.mjs"
import { median, spread } from "../harness/statistics.mjs"
import { cases, writeLog } from "./cases.mjs"

/** @typedef {{ lines: number, seconds: number, cpuSeconds: number, denied: number, peakBytes: number }} Run */
/** @typedef {{ name: string, lines: number, bytes: number, linesPerSecond: number, linesPerCpuSecond: number, spread: number, denied: number }} Speed */
/** @typedef {{ lines: number, bytes: number, peakBytes: number }} Memory */
/** @typedef {{ pinned: boolean, speeds: Speed[], memory?: { small: Memory, large: Memory } }} Figures */

/**
 * @param {import("../harness/command.mjs").Plan} plan
 * @returns {Promise<Figures>}
 */
export async function run({ quick, cases: wanted }) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-replay-"))
  const core = twoCores()?.server
  try {
    /** @type {Figures} */
    const figures = { pinned: core !== undefined, speeds: [] }
    for (const format of cases) {
      if (wanted.includes(format.name)) figures.speeds.push(await speedOf(format, folder, core, quick))
    }
    if (wanted.includes("memory")) figures.memory = await memoryOf(folder, core, quick)
    return figures
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/**
 * @param {import("./cases.mjs").Case} format
 * @param {string} folder
 * @param {number | undefined} core
 * @param {boolean} quick
 * @returns {Promise<Speed>}
 */
async function speedOf(format, folder, core, quick) {
  say(format.title)
  const lines = quick ? 300_000 : 1_000_000
  const path = join(folder, format.name)
  const warmUp = join(folder, `${format.name}-warm-up`)
  const bytes = await writeLog(path, format, lines)
  await writeLog(warmUp, format, 200_000)
  /** @type {Run[]} */
  const runs = []
  for (let i = 0; i < (quick ? 3 : 5); i++)
    runs.push(await askOnce(new URL("one.mjs", import.meta.url), { path, warmUp, core }))
  rmSync(path)
  rmSync(warmUp)
  const rates = runs.map(({ seconds }) => lines / seconds)
  const [{ denied } = { denied: 0 }] = runs
  return {
    name: format.name,
    lines,
    bytes,
    linesPerSecond: median(rates),
    linesPerCpuSecond: median(runs.map(({ cpuSeconds }) => lines / cpuSeconds)),
    spread: spread(rates),
    denied,
  }
}

/**
 * A log, and one ten times as long: of the same clients, so that only its length differs.
 * @param {string} folder
 * @param {number | undefined} core
 * @param {boolean} quick
 */
async function memoryOf(folder, core, quick) {
  const [combined] = cases
  const lines = quick ? 200_000 : 1_000_000
  /** @param {number} times @returns {Promise<Memory>} */
  const peakOf = async (times) => {
    say(`memory: ${times} × ${lines} lines`)
    const path = join(folder, "memory")
    const bytes = await writeLog(path, /** @type {import("./cases.mjs").Case} */ (combined), times * lines)
    const { peakBytes } = await askOnce(new URL("one.mjs", import.meta.url), { path, core })
    rmSync(path)
    return { lines: times * lines, bytes, peakBytes }
  }
  return { small: await peakOf(1), large: await peakOf(10) }
}
