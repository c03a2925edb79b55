// h2spec for `npm run test:h2spec`. `node scripts/ensure-h2spec.mjs` prints the path of one.

import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { ensureTool, must, printTool } from "./ensure-tool.mjs"

const MODULE = "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible"

const h2spec = {
  command: "h2spec",
  variable: "SLUICE_H2SPEC",
  // What 2.2.1 says of itself when it was built by `go install`.
  oldest: "2.0",
  version: /Version: (\d+(?:\.\d+)+)/,
  fetch,
  byHand: {
    debian: `apt-get install golang && go install ${MODULE}`,
    darwin: "brew install h2spec",
    other: `go install ${MODULE}, with Go from https://go.dev/dl`,
  },
}

export function ensureH2spec() {
  return ensureTool(h2spec)
}

/** Built by Go, from its source: nobody packs it for Debian or npm. @param {string} folder */
function fetch(folder) {
  mkdirSync(join(folder, ".."), { recursive: true })
  const work = mkdtempSync(`${folder}-`)
  try {
    must("env", [`GOBIN=${work}`, "go", "install", MODULE], work)
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder)
    renameSync(join(work, "h2spec"), join(folder, "h2spec"))
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

printTool(import.meta.url, ensureH2spec)
