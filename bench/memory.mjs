// `npm run bench:memory`: Sluice in memory, side by side with its peers. The options are in docs/benchmarks.md.

import { parseArgs } from "node:util"
import { writeFigures } from "./harness/document.mjs"
import { describeMachine, machineLine } from "./harness/machine.mjs"
import { measuredVersions, setUp } from "./harness/set-up.mjs"
import { markdownTable, textTable } from "./harness/table.mjs"
import { contenderNamed } from "./memory/contenders.mjs"
import { judge } from "./memory/goals.mjs"
import { callTable, tables } from "./memory/report.mjs"
import { caseNames, run } from "./memory/run.mjs"

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
for (const name of options.case) {
  if (!caseNames.includes(name)) throw new Error(`--case must be one of ${caseNames.join(", ")}, got ${name}`)
}
for (const name of options.contender) contenderNamed(name)
if (options.write && (options.quick || options.case.length > 0 || options.contender.length > 0)) {
  throw new Error("--write needs a full run: docs/benchmarks.md shows all cases or none")
}

const machine = describeMachine()
if (!options.built) setUp()
const started = performance.now()
const figures = await run({
  quick: options.quick,
  cases: options.case.length > 0 ? options.case : caseNames,
  contenders: options.contender,
})
const seconds = Math.round((performance.now() - started) / 1000)
const verdicts = judge(figures)
const command = ["npm run bench:memory --", ...process.argv.slice(2)].join(" ").replace(/ --$/, "")
const versions = measuredVersions()

if (options.json) {
  const report = { benchmark: "memory", command, seconds, machine, versions, ...figures, goals: verdicts }
  process.stdout.write(`${JSON.stringify(report)}\n`)
} else {
  const where = `${machineLine(machine)}\n`
  process.stdout.write([where, ...tables(figures, verdicts).map(textTable)].join("\n"))
}
if (options.write) {
  const about = [
    `Command: \`${command}\` (${seconds} s).`,
    `Machine: ${machineLine(machine)}.`,
    `Versions: ${Object.entries(versions)
      .map(([name, version]) => `${name} ${version}`)
      .join(", ")}.`,
  ].join("\n")
  const figureText = [about, "", ...[callTable(), ...tables(figures, verdicts)].map(markdownTable)].join("\n")
  writeFigures(new URL("../docs/benchmarks.md", import.meta.url), "bench:memory", figureText)
}
const missed = verdicts.filter(({ met }) => !met).length
process.stderr.write(`${verdicts.length - missed} of ${verdicts.length} goals met in ${seconds} s\n`)
if (options.check && missed > 0) process.exitCode = 1
