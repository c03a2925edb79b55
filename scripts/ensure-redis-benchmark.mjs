// redis-benchmark, for the benchmarks. `node scripts/ensure-redis-benchmark.mjs` prints the path of one.

import { ensureTool, printTool } from "./ensure-tool.mjs"

const redisBenchmark = {
  command: "redis-benchmark",
  variable: "SLUICE_REDIS_BENCHMARK",
  oldest: "7.0",
  version: /redis-benchmark (\d+(?:\.\d+)+)/,
  debianPackage: "redis-tools",
  byHand: {
    debian: "sudo apt-get update && sudo apt-get install redis-tools",
    darwin: "brew install redis",
    other: "your system's package manager: install redis 7.0 or newer",
  },
}

export function ensureRedisBenchmark() {
  return ensureTool(redisBenchmark)
}

printTool(import.meta.url, ensureRedisBenchmark)
