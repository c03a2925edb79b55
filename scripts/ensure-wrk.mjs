// wrk, which loads HTTP servers, for the benchmarks and tests. `node scripts/ensure-wrk.mjs` prints the path of one.

import { ensureTool, printTool } from "./ensure-tool.mjs"

const wrk = {
  command: "wrk",
  variable: "SLUICE_WRK",
  oldest: "4.1",
  // Debian's says `wrk debian/4.1.0-3+b2`, one built by hand `wrk 4.2.0`; asked for its version it ends with 1.
  version: /wrk (?:debian\/)?(\d+(?:\.\d+)+)/,
  versionArguments: ["-v"],
  versionStatus: 1,
  byHand: {
    debian: "sudo apt-get update && sudo apt-get install wrk",
    darwin: "brew install wrk",
    other: "your system's package manager: install wrk 4.1 or newer",
  },
}

export function ensureWrk() {
  return ensureTool(wrk)
}

printTool(import.meta.url, ensureWrk)
