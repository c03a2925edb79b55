// `npm run bench:replay`: how fast an access log is replayed through rules, and how much memory that takes. The options are in
// docs/benchmarks.md.

import { runBenchmark } from "./harness/command.mjs"
import { cases } from "./replay/cases.mjs"
import { judge } from "./replay/goals.mjs"
import { callTable, tables } from "./replay/report.mjs"
import { run } from "./replay/run.mjs"

await runBenchmark({
  name: "replay",
  cases: [...cases.map(({ name }) => name), "memory"],
  contenders: [],
  packages: ["sluice"],
  calls: callTable(),
  run,
  judge,
  tables,
  project: "packages/server",
})
