// Builds the dashboard into packages/dashboard/dist, unless the build there was made from the same sources.

import { spawnSync } from "node:child_process"
import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { filesIn, hashOfFiles, readIfExists } from "./files.mjs"
import { root } from "./root.mjs"

const folder = join(root, "packages", "dashboard")
const dist = join(folder, "dist")
/** A file in dist with the hash of the sources. The service does not serve files whose name begins with a dot. */
const STAMP = ".sources"
const NOT_SOURCES = /^(?:node_modules|dist)$|\.(?:test|test-support)\.tsx?$/

/** @returns {boolean} whether dist contains the build of the current sources */
export function buildDashboard() {
  const stamp = hashOfSources()
  if (isBuiltFrom(stamp)) return true
  // Build into another folder: a running service or another build must never see an incomplete dist.
  const output = join(root, "node_modules", ".cache", `dashboard-${process.pid}`)
  const vite = join(root, "node_modules", "vite", "bin", "vite.js")
  const args = [vite, "build", "--logLevel=warn", "--outDir", output, "--emptyOutDir"]
  const { status } = spawnSync(process.execPath, args, { cwd: folder, stdio: "inherit" })
  // Another process may have finished the same build in the meantime.
  if (status === 0 && !isBuiltFrom(stamp)) {
    writeFileSync(join(output, STAMP), stamp)
    replaceDist(output, stamp)
  }
  rmSync(output, { recursive: true, force: true })
  return status === 0
}

/** @param {string} stamp */
function isBuiltFrom(stamp) {
  return readIfExists(join(dist, STAMP)) === stamp
}

/** @param {string} output @param {string} stamp */
function replaceDist(output, stamp) {
  const old = `${output}.old`
  try {
    if (existsSync(dist)) renameSync(dist, old)
    renameSync(output, dist)
  } catch (error) {
    // If another process has put the same build there, all is well.
    if (!isBuiltFrom(stamp)) throw error
  } finally {
    rmSync(old, { recursive: true, force: true })
  }
}

/** Includes the library, which the playground of the dashboard runs. */
function hashOfSources() {
  const library = join(root, "packages", "sluice", "src")
  const sources = [...filesIn(folder, NOT_SOURCES), ...filesIn(library, NOT_SOURCES)]
  return hashOfFiles([...sources, join(root, "package-lock.json")])
}
