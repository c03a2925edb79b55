// A real zsh for the tests of completion. `node scripts/ensure-zsh.mjs` prints the path of one.

import { ensureTool, printTool } from "./ensure-tool.mjs"

const zsh = {
  command: "zsh",
  variable: "SLUICE_ZSH",
  oldest: "5.0",
  version: /zsh(?:, version)? (\d+(?:\.\d+)+)/,
  folder: "bin",
  debianPackage: "zsh",
  byHand: {
    debian: "sudo apt-get update && sudo apt-get install zsh",
    darwin: "brew install zsh",
    other: "your system's package manager: install zsh",
  },
}

export function ensureZsh() {
  return ensureTool(zsh)
}

printTool(import.meta.url, ensureZsh)
