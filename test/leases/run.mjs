// `npm run test:leases`: plays simulated schedules of fleets with leases, and real processes on a real Redis.

import { spawnSync } from "node:child_process"
import { misused, readArguments } from "../../bench/harness/arguments.mjs"
import { root } from "../../scripts/root.mjs"

const help = `Options:
  --long      two million schedules (about half an hour); without it as many as npm test plays
  --schedules N  how many schedules
  --seed N    the first seed (default: another each time)
`
const options = readArguments(
  {
    long: { type: "boolean", default: false },
    schedules: { type: "string" },
    seed: { type: "string" },
  },
  help,
)
for (const name of ["schedules", "seed"]) {
  if (options[name] !== undefined && !/^\d+$/.test(options[name]))
    misused(`--${name} needs a whole number`, help)
}
const schedules = options.schedules ?? (options.long ? "2000000" : undefined)
const env = { ...process.env }
if (schedules !== undefined) env.SLUICE_SCHEDULES = schedules
if (options.seed !== undefined) env.SLUICE_SEED = options.seed
const { status } = spawnSync("npx", ["vitest", "run", "test/leases"], { cwd: root, env, stdio: "inherit" })
process.exitCode = status ?? 1
