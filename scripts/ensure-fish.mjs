// A real fish for the tests of completion. `node scripts/ensure-fish.mjs` prints the path of one.

import { ensureTool, printTool } from "./ensure-tool.mjs"

const fish = {
  command: "fish",
  variable: "SLUICE_FISH",
  oldest: "3.1",
  version: /fish(?:, version)? (\d+(?:\.\d+)+)/,
  debianPackage: "fish",
  byHand: {
    debian: "sudo apt-get update && sudo apt-get install fish",
    darwin: "brew install fish",
    other: "your system's package manager: install fish",
  },
}

export function ensureFish() {
  return ensureTool(fish)
}

printTool(import.meta.url, ensureFish)
