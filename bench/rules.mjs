// `npm run bench:rules`: what finding the rules of a request costs when there are many. The options are in docs/benchmarks.md.

import { runBenchmark } from "./harness/command.mjs"
import { mixes } from "./rules/cases.mjs"
import { judge } from "./rules/goals.mjs"
import { callTable, tables } from "./rules/report.mjs"
import { run } from "./rules/run.mjs"

await runBenchmark({
  name: "rules",
  cases: mixes.map(({ name }) => name),
  contenders: [],
  packages: ["sluice"],
  calls: callTable(),
  run,
  judge,
  tables,
})
