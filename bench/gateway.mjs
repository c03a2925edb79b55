// `npm run bench:gateway`: what passes the gateway each second, side by side with nginx and the proxies of npm in front of
// the same backend. The options are in docs/benchmarks.md.

import { cases, contenders } from "./gateway/cases.mjs"
import { judge } from "./gateway/goals.mjs"
import { callTable, tables } from "./gateway/report.mjs"
import { run, surroundings } from "./gateway/run.mjs"
import { runBenchmark } from "./harness/command.mjs"

await runBenchmark({
  name: "gateway",
  cases,
  contenders: contenders.map(({ name }) => name),
  packages: ["sluice", "http-proxy-3", "http-proxy", "@fastify/http-proxy", "fast-proxy"],
  project: "packages/server",
  calls: callTable(),
  run,
  judge,
  tables,
  surroundings,
})
