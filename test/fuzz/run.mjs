// `npm run test:fuzz`: reads generated and mutated HTTP with our reader and with node:http, then sends it through the gateway
// and the check API, beside a node:http server, and compares.

import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { misused, readArguments } from "../../bench/harness/arguments.mjs"
import { describeMachine, machineLine } from "../../bench/harness/machine.mjs"
import { root } from "../../scripts/root.mjs"

const help = `Options:
  --reads N      connections that both readers read, in memory (default 100000)
  --seconds N    how long to send inputs to servers (default 60)
  --seed N       of the inputs (default: another each time)
  --input N      only this input of the seed, to see a failure again
  --quick        5,000 reads and 5 seconds
  --json         one JSON object alone on stdout
  --built        takes the library as it was last built, and installs nothing
`
const options = readArguments(
  {
    reads: { type: "string", default: "100000" },
    seconds: { type: "string", default: "60" },
    seed: { type: "string" },
    input: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    built: { type: "boolean", default: false },
  },
  help,
)
const reads = options.quick ? 5_000 : wholeNumber("--reads", options.reads)
const seconds = options.quick ? 5 : wholeNumber("--seconds", options.seconds)
const seed =
  options.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : wholeNumber("--seed", options.seed)
const input = options.input === undefined ? undefined : wholeNumber("--input", options.input)

if (!options.built) setUp()
const { runnerImport } = await import("vite")
process.stderr.write(`seed ${seed}, ${reads} reads, ${seconds} s\n`)
const reader = await (await load("./reader.ts")).compareReaders(
  seed,
  input === undefined ? reads : 1,
  input ?? 0,
)
const report = await (await load("./fuzz.ts")).fuzz({ seconds, seed, input })
const failures = [...reader.failures, ...report.failures]

if (options.json)
  process.stdout.write(`${JSON.stringify({ machine: describeMachine(), ...report, reader, failures })}\n`)
else {
  const rows = report.tried.map(
    (/** @type {{ name: string, tries: number, failures: number }} */ { name, tries, failures }) =>
      `| ${name} | ${tries.toLocaleString("en")} | ${failures === 0 ? "held" : `${failures} failed`} |`,
  )
  process.stdout.write(
    `${machineLine(describeMachine())}\n\n${reader.inputs.toLocaleString("en")} connections read by our reader and by node:http: ${reader.requests.toLocaleString("en")} requests read alike, ${reader.failures.length} differences.\n\n| tried | times | |\n|---|---|---|\n${rows.join("\n")}\n\n` +
      `${report.inputs.toLocaleString("en")} inputs in ${report.seconds} s; memory at most ${report.peakRssMb} MB, ${report.grownMb} MB more than at the start; the event loop was kept for ${report.longestStallMs} ms at most.\n`,
  )
  for (const failure of failures.slice(0, 20)) process.stdout.write(`\nFAILED ${failure}\n`)
}
process.exitCode = failures.length > 0 ? 1 : 0

/** @param {string} file */
async function load(file) {
  const path = fileURLToPath(new URL(file, import.meta.url))
  return (await runnerImport(path, { configFile: false, root, logLevel: "error" })).module
}

/** Installs and builds what is missing. All it prints goes to stderr: stdout belongs to the report. */
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

/** @param {string} name @param {string} text */
function wholeNumber(name, text) {
  const value = Number(text)
  if (!Number.isInteger(value) || value < 0) misused(`${name} must be an integer ≥ 0, got ${text}`, help)
  return value
}
