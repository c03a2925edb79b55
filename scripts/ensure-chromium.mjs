// A real Chromium for the tests of the dashboard. `node scripts/ensure-chromium.mjs` prints the path of one.

import { ensureTool, printTool } from "./ensure-tool.mjs"

const chromium = {
  command: "chromium",
  variable: "SLUICE_CHROMIUM",
  // light-dark(), which the themes are made of.
  oldest: "123.0",
  version: /(?:Chromium|Chrome) (\d+(?:\.\d+)+)/,
  folder: "usr/lib/chromium",
  debianPackage: "chromium",
  byHand: {
    debian: "sudo apt-get update && sudo apt-get install chromium",
    darwin: "brew install --cask chromium",
    other: "your system's package manager: install chromium 123 or newer",
  },
}

export function ensureChromium() {
  return ensureTool(chromium)
}

printTool(import.meta.url, ensureChromium)
