// `npm run test:fuzz`: sends generated and mutated HTTP through both lanes of the gateway and the service, beside a plain
// node:http server, and compares.

import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { misused, readArguments } from "../../bench/harness/arguments.mjs"
import { describeMachine, machineLine } from "../../bench/harness/machine.mjs"
import { root } from "../../scripts/root.mjs"

const help = `Options:
  --seconds N    how long to send inputs (default 60)
  --seed N       of the inputs (default: another each time)
  --input N      only this input of the seed, to see a failure again
  --quick        5 seconds
  --json         one JSON object alone on stdout
  --built        takes the library as it was last built, and installs nothing
`
const options = readArguments(
  {
    seconds: { type: "string", default: "60" },
    seed: { type: "string" },
    input: { type: "string" },
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    built: { type: "boolean", default: false },
  },
  help,
)
const seconds = options.quick ? 5 : wholeNumber("--seconds", options.seconds)
const seed =
  options.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : wholeNumber("--seed", options.seed)
const input = options.input === undefined ? undefined : wholeNumber("--input", options.input)

if (!options.built) setUp()
const { runnerImport } = await import("vite")
const file = fileURLToPath(new URL("./fuzz.ts", import.meta.url))
const { module } = await runnerImport(file, { configFile: false, root, logLevel: "error" })
process.stderr.write(`seed ${seed}, ${seconds} s\n`)
const report = await module.fuzz({ seconds, seed, input })

if (options.json) process.stdout.write(`${JSON.stringify({ machine: describeMachine(), ...report })}\n`)
else {
  const rows = report.tried.map(
    (/** @type {{ name: string, tries: number, failures: number }} */ { name, tries, failures }) =>
      `| ${name} | ${tries.toLocaleString("en")} | ${failures === 0 ? "held" : `${failures} failed`} |`,
  )
  process.stdout.write(
    `${machineLine(describeMachine())}\n\n| tried | times | |\n|---|---|---|\n${rows.join("\n")}\n\n` +
      `${report.inputs.toLocaleString("en")} inputs in ${report.seconds} s; memory at most ${report.peakRssMb} MB, ${report.grownMb} MB more than at the start; the event loop was kept for ${report.longestStallMs} ms at most.\n`,
  )
  for (const failure of report.failures.slice(0, 20)) process.stdout.write(`\nFAILED ${failure}\n`)
}
process.exitCode = report.failures.length > 0 ? 1 : 0

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
