// `npm run bench:leases`: limits with leases, side by side with the plain path to Redis. The options are in docs/benchmarks.md.

import { runBenchmark } from "./harness/command.mjs"
import { callTable, caseNames, judge, tables } from "./leases/report.mjs"
import { run, surroundings } from "./leases/run.mjs"
import { contenderNames } from "./leases/subjects.mjs"

await runBenchmark({
  name: "leases",
  cases: caseNames,
  contenders: contenderNames,
  packages: ["sluice", "ioredis", "rate-limiter-flexible"],
  calls: callTable(),
  run,
  judge,
  tables,
  surroundings,
})
