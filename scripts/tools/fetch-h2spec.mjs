import { mkdtempSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { must } from "./must.mjs"

export const H2SPEC_MODULE = "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible"

/** Go builds it from its source, because neither Debian nor npm has it. @param {string} file */
export function fetchH2spec(file) {
  const work = mkdtempSync(`${file}-`)
  try {
    must("go", ["install", H2SPEC_MODULE], work, { GOBIN: work })
    renameSync(join(work, "h2spec"), file)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
