// The command line that all benchmarks share: the options of docs/benchmarks.md, and the output of the figures.

import { misused, readArguments } from "./arguments.mjs"
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
 * @property {Table} calls  the contenders, and the call of each that is measured
 * @property {(plan: Plan) => Promise<Figures>} run
 * @property {(figures: Figures) => Verdict[]} judge
 * @property {(figures: Figures, verdicts: readonly Verdict[]) => Table[]} tables
 * @property {(figures: Figures) => string} [surroundings]  what else the figures depend on
 * @property {string} [project]  what has to be built for it; the library when not given
 */

/**
 * @template {object} Figures
 * @param {Benchmark<Figures>} benchmark
 */
export async function runBenchmark(benchmark) {
  const options = readOptions(benchmark)
  const machine = describeMachine()
  if (!options.built) setUp(benchmark.project)
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
  const help = `Options:
  --quick           under a minute
  --case NAME       only this: ${cases.join(", ")}; may be repeated
  --contender NAME  only this; may be repeated
  --json            one JSON object alone on stdout
  --check           fails when a goal is missed; without it a missed goal is only shown
  --write           writes the figures of a full run into docs/benchmarks.md
  --built           measures what was last built, and installs nothing
`
  const options = readArguments(
    {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      built: { type: "boolean", default: false },
      check: { type: "boolean", default: false },
      case: { type: "string", multiple: true, default: [] },
      contender: { type: "string", multiple: true, default: [] },
    },
    help,
  )
  for (const [option, given, known] of /** @type {const} */ ([
    ["--case", options.case, cases],
    ["--contender", options.contender, contenders],
  ])) {
    const stranger = given.find((name) => !known.includes(name))
    if (stranger !== undefined) misused(`${option} must be one of ${known.join(", ")}; got ${stranger}`, help)
  }
  if (options.write && (options.quick || options.case.length > 0 || options.contender.length > 0)) {
    misused("--write needs a full run: docs/benchmarks.md shows all cases or none", help)
  }
  return options
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
