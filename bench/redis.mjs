// `npm run bench:redis`: Sluice on Redis, side by side with its peers. The options are in docs/benchmarks.md.

import { runBenchmark } from "./harness/command.mjs"
import { caseNames } from "./redis/cases.mjs"
import { contenders, packages } from "./redis/contenders.mjs"
import { judge } from "./redis/goals.mjs"
import { callTable, tables } from "./redis/report.mjs"
import { run, surroundings } from "./redis/run.mjs"

await runBenchmark({
  name: "redis",
  cases: caseNames,
  contenders: contenders.map(({ name }) => name),
  packages,
  calls: callTable(),
  run,
  judge,
  tables,
  surroundings,
})
