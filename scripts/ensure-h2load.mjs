// h2load, for the benchmarks. `node scripts/ensure-h2load.mjs` prints the path of one.

import { ensureTool, printTool } from "./ensure-tool.mjs"

const h2load = {
  command: "h2load",
  variable: "SLUICE_H2LOAD",
  oldest: "1.40",
  version: /nghttp2\/(\d+(?:\.\d+)+)/,
  debianPackage: "nghttp2-client",
  byHand: {
    debian: "sudo apt-get update && sudo apt-get install nghttp2-client",
    darwin: "brew install nghttp2",
    other: "your system's package manager: install h2load of nghttp2 1.40 or newer",
  },
}

export function ensureH2load() {
  return ensureTool(h2load)
}

printTool(import.meta.url, ensureH2load)
