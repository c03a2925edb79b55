// A real redis-server for the tests. `node scripts/ensure-redis.mjs` prints the path of one.

import { ensureTool, printTool } from "./ensure-tool.mjs"

const redis = {
  command: "redis-server",
  variable: "SLUICE_REDIS_SERVER",
  oldest: "7.0",
  version: /v=(\d+(?:\.\d+)+)/,
  debianPackage: "redis-server",
  byHand: {
    debian: "sudo apt-get update && sudo apt-get install redis-server",
    darwin: "brew install redis",
    other: "your system's package manager: install redis (or valkey) 7.0 or newer",
  },
}

export function ensureRedis() {
  return ensureTool(redis)
}

printTool(import.meta.url, ensureRedis)
