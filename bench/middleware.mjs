// `npm run bench:middleware`: what a middleware takes from its framework, side by side with its peer. The options are in
// docs/benchmarks.md.

import { runBenchmark } from "./harness/command.mjs"
import { contenders, frameworks, packages } from "./middleware/contenders.mjs"
import { judge } from "./middleware/goals.mjs"
import { callTable, tables } from "./middleware/report.mjs"
import { run, surroundings } from "./middleware/run.mjs"

await runBenchmark({
  name: "middleware",
  cases: frameworks,
  contenders: [...new Set(contenders.map(({ name }) => name))],
  packages,
  calls: callTable(),
  run,
  judge,
  tables,
  surroundings,
})
