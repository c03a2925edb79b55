// `npm run bench:service`: what the service answers each second over every protocol, side by side with a server that does
// nothing but answer. The options are in docs/benchmarks.md.

import { runBenchmark } from "./harness/command.mjs"
import { cases, contenders } from "./service/cases.mjs"
import { judge } from "./service/goals.mjs"
import { callTable, tables } from "./service/report.mjs"
import { run, surroundings } from "./service/run.mjs"

await runBenchmark({
  name: "service",
  cases,
  contenders: contenders.map(({ name }) => name),
  packages: ["sluice"],
  project: "packages/server",
  calls: callTable(),
  run,
  judge,
  tables,
  surroundings,
})
