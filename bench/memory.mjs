// `npm run bench:memory`: Sluice in memory, side by side with its peers. The options are in docs/benchmarks.md.

import { runBenchmark } from "./harness/command.mjs"
import { contenders, packages } from "./memory/contenders.mjs"
import { judge } from "./memory/goals.mjs"
import { callTable, tables } from "./memory/report.mjs"
import { caseNames, run } from "./memory/run.mjs"

await runBenchmark({
  name: "memory",
  cases: caseNames,
  contenders: contenders.map(({ name }) => name),
  packages,
  calls: callTable(),
  run,
  judge,
  tables,
})
