// What every benchmark's command line has in common: the options of docs/benchmarks.md, and what is done with the figures.

import { parseArgs } from "node:util"
import { writeFigures } from "./document.mjs"
import { describeMachine, machineLine } from "./machine.mjs"
import { measuredVersions, setUp } from "./set-up.mjs"
import { markdownTable, textTable } from "./table.mjs"

/** @typedef {import("./table.mjs").Table} Table */
/** @typedef {import("./goals.mjs").Verdict} Verdict */

/**
 * @typedef {object} Plan
 * @property {boolean} quick
 * @property {readonly string[]} cases
 * @property {readonly string[]} contenders  names; all when empty
 */

/**
 * @template {object} Figures
 * @typedef {object} Benchmark
 * @property {string} name  of `npm run bench:…`, and of the markers in the docs
 * @property {readonly string[]} cases
 * @property {readonly string[]} contenders
 * @property {readonly string[]} packages  whose versions are stated
 * @property {Table} calls  what is measured of whom
 * @property {(plan: Plan) => Promise<Figures>} run
 * @property {(figures: Figures) => Verdict[]} judge
 * @property {(figures: Figures, verdicts: readonly Verdict[]) => Table[]} tables
 * @property {(figures: Figures) => string} [surroundings]  what else the figures depend on
 */

/**
 * @template {object} Figures
 * @param {Benchmark<Figures>} benchmark
 */
export async function runBenchmark(benchmark) {
  const options = readOptions(benchmark)
  const machine = describeMachine()
  if (!options.built) setUp()
  const started = performance.now()
  const figures = await benchmark.run({
    quick: options.quick,
    cases: options.case.length > 0 ? options.case : benchmark.cases,
    contenders: options.contender,
  })
  const seconds = Math.round((performance.now() - started) / 1000)
  const verdicts = benchmark.judge(figures)
  const tables = benchmark.tables(figures, verdicts)
  const command = [`npm run bench:${benchmark.name} --`, ...process.argv.slice(2)]
    .join(" ")
    .replace(/ --$/, "")
  const versions = measuredVersions(benchmark.packages)
  const where = [machineLine(machine), benchmark.surroundings?.(figures)].filter(Boolean).join("; ")

  if (options.json) {
    const report = { benchmark: benchmark.name, command, seconds, machine, versions, ...figures }
    process.stdout.write(`${JSON.stringify({ ...report, goals: verdicts })}\n`)
  } else {
    process.stdout.write([`${where}\n`, ...tables.map(textTable)].join("\n"))
  }
  if (options.write) {
    const about = [
      `Command: \`${command}\` (${seconds} s).`,
      `Machine: ${where}.`,
      `Versions: ${Object.entries(versions)
        .map(([name, version]) => `${name} ${version}`)
        .join(", ")}.`,
    ].join("\n")
    const text = [about, "", ...[benchmark.calls, ...tables].map(markdownTable)].join("\n")
    writeFigures(new URL("../../docs/benchmarks.md", import.meta.url), `bench:${benchmark.name}`, text)
  }
  const missed = verdicts.filter(({ met }) => !met).length
  process.stderr.write(`${verdicts.length - missed} of ${verdicts.length} goals met in ${seconds} s\n`)
  if (options.check && missed > 0) process.exitCode = 1
}

/** @param {{ cases: readonly string[], contenders: readonly string[] }} benchmark */
function readOptions({ cases, contenders }) {
  const { values: options } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      built: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      case: { type: "string", multiple: true, default: [] },
      contender: { type: "string", multiple: true, default: [] },
    },
  })
  requireKnown("--case", options.case, cases)
  requireKnown("--contender", options.contender, contenders)
  if (options.write && (options.quick || options.case.length > 0 || options.contender.length > 0)) {
    throw new Error("--write needs a full run: docs/benchmarks.md shows all cases or none")
  }
  return options
}

/**
 * @param {string} option
 * @param {readonly string[]} given
 * @param {readonly string[]} known
 */
function requireKnown(option, given, known) {
  for (const name of given) {
    if (!known.includes(name)) throw new Error(`${option} must be one of ${known.join(", ")}; got ${name}`)
  }
}

const started = performance.now()

/**
 * Progress, on stderr.
 * @param {string} what
 */
export function say(what) {
  const seconds = Math.round((performance.now() - started) / 1000)
  process.stderr.write(`${String(seconds).padStart(4)} s  ${what}\n`)
}
