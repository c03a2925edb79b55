// `npm run test:chaos`: breaks real Redis servers under load and prints what the callers of a limiter noticed.

import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { misused, readArguments } from "../../bench/harness/arguments.mjs"
import { describeMachine, machineLine } from "../../bench/harness/machine.mjs"
import { markdownTable, textTable } from "../../bench/harness/table.mjs"
import { root } from "../../scripts/root.mjs"
import { ensureTool } from "../../scripts/tools/ensure.mjs"
import { judge, tables } from "./report.mjs"

const help = `Options:
  --quick        under a minute: the most telling faults only
  --fault TEXT   only faults and fleets whose name contains this; may be repeated
  --rounds N     every fault N times, the worst figures count (default 1)
  --seed N       of keys and jitter (default 1)
  --json         one JSON object alone on stdout
  --check        fails when a goal is missed; without it a missed goal is only shown
  --write        writes the tables of a full run into docs/redis.md
  --built        measures the library as it was last built, and installs nothing
`
const options = readArguments(
  {
    quick: { type: "boolean", default: false },
    fault: { type: "string", multiple: true, default: [] },
    rounds: { type: "string", default: "1" },
    seed: { type: "string", default: "1" },
    json: { type: "boolean", default: false },
    check: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    built: { type: "boolean", default: false },
  },
  help,
)
const rounds = wholeNumber("--rounds", options.rounds)
const seed = wholeNumber("--seed", options.seed)
if (options.write && (options.quick || options.fault.length > 0)) {
  misused("--write needs a full run: docs/redis.md shows all faults or none", help)
}

const machine = describeMachine()
if (!options.built) setUp()
process.env.SLUICE_REDIS_SERVER = ensureTool("redis-server")
const { runChaos } = await load("./chaos.ts")
const started = performance.now()
const figures = await runChaos({ quick: options.quick, seed, rounds, only: options.fault, say })
const seconds = Math.round((performance.now() - started) / 1000)
const verdicts = judge(figures)
const command = ["npm run test:chaos --", ...process.argv.slice(2)].join(" ").replace(/ --$/, "")

if (options.json) {
  process.stdout.write(`${JSON.stringify({ command, seconds, machine, ...figures, goals: verdicts })}\n`)
} else {
  process.stdout.write(
    `${[machineLine(machine), "", ...tables(figures, verdicts).map(textTable)].join("\n")}\n`,
  )
}
if (options.write) {
  const about = `Command: \`${command}\` (${seconds} s).\nMachine: ${machineLine(machine)}.\n`
  writeBetweenMarkers(
    new URL("../../docs/redis.md", import.meta.url),
    [about, ...tables(figures, verdicts).map(markdownTable)].join("\n"),
  )
}
const missed = verdicts.filter(({ met }) => !met).length
process.stderr.write(`${verdicts.length - missed} of ${verdicts.length} goals met in ${seconds} s\n`)
if (options.check && missed > 0) process.exitCode = 1

/** The experiments share their TypeScript with the tests; vite, which runs those, loads it here too. @param {string} path */
async function load(path) {
  const { runnerImport } = await import("vite")
  const file = fileURLToPath(new URL(path, import.meta.url))
  const { module } = await runnerImport(file, { configFile: false, root, logLevel: "error" })
  return module
}

/** Installs and builds what is missing. All it prints goes to stderr: stdout belongs to the figures. */
function setUp() {
  const steps = [
    ["--input-type=module", "--eval", "(await import('./scripts/bootstrap.mjs')).install()"],
    ["scripts/build.mjs", "packages/sluice"],
  ]
  for (const args of steps) {
    const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: ["ignore", 2, 2] })
    if (status !== 0) process.exit(status ?? 1)
  }
}

/** @param {URL} file @param {string} text */
function writeBetweenMarkers(file, text) {
  const page = readFileSync(file, "utf8")
  const [start, end] = ["<!-- chaos -->", "<!-- /chaos -->"]
  const [from, to] = [page.indexOf(start), page.indexOf(end)]
  if (from < 0 || to < from) throw new Error(`docs/redis.md needs the lines "${start}" and "${end}"`)
  writeFileSync(file, `${page.slice(0, from + start.length)}\n\n${text.trim()}\n\n${page.slice(to)}`)
}

/** @param {string} name @param {string} text */
function wholeNumber(name, text) {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 1) misused(`${name} must be an integer ≥ 1, got ${text}`, help)
  return value
}

/** @param {string} what */
function say(what) {
  const at = Math.round(performance.now() / 1000)
  process.stderr.write(`${String(at).padStart(4)} s  ${what}\n`)
}
