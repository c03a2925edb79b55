// A real Caddy for the tests. `node scripts/ensure-caddy.mjs` prints the path of one.

import { ensureTool, printTool } from "./ensure-tool.mjs"

const caddy = {
  command: "caddy",
  variable: "SLUICE_CADDY",
  oldest: "2.5.1",
  version: /^v?(\d+(?:\.\d+)+)/,
  versionArguments: ["version"],
  debianPackage: "caddy",
  byHand: {
    debian: "sudo apt-get update && sudo apt-get install caddy",
    darwin: "brew install caddy",
    other: "your system's package manager: install caddy 2.5.1 or newer",
  },
}

export function ensureCaddy() {
  return ensureTool(caddy)
}

printTool(import.meta.url, ensureCaddy)
