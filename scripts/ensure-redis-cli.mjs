// A real redis-cli for the tests. `node scripts/ensure-redis-cli.mjs` prints the path of one.

import { ensureTool, printTool } from "./ensure-tool.mjs"

const redisCli = {
  command: "redis-cli",
  variable: "SLUICE_REDIS_CLI",
  oldest: "7.0",
  version: /redis-cli (\d+(?:\.\d+)+)/,
  debianPackage: "redis-tools",
  byHand: {
    debian: "sudo apt-get update && sudo apt-get install redis-tools",
    darwin: "brew install redis",
    other: "your system's package manager: install the tools of redis 7.0 or newer",
  },
}

export function ensureRedisCli() {
  return ensureTool(redisCli)
}

printTool(import.meta.url, ensureRedisCli)
