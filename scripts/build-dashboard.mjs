// Builds the web page into packages/dashboard/dist, unless what is there was made from the same sources.

import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join, relative } from "node:path"
import { root } from "./root.mjs"

const folder = join(root, "packages", "dashboard")
const dist = join(folder, "dist")
/** Says what the files beside it were made from. The service shows no file whose name begins with a dot. */
const STAMP = ".sources"

/** @returns {boolean} whether the page is there, as its sources say */
export function buildDashboard() {
  const stamp = hashOfSources()
  if (isMadeFrom(stamp)) return true
  // Elsewhere first: a service that runs, or another build, must never see half of it.
  const made = join(root, "node_modules", ".cache", `dashboard-${process.pid}`)
  const vite = join(root, "node_modules", "vite", "bin", "vite.js")
  const args = [vite, "build", "--logLevel=warn", "--outDir", made, "--emptyOutDir"]
  const { status } = spawnSync(process.execPath, args, { cwd: folder, stdio: "inherit" })
  // Several may have begun at once: one is enough.
  if (status === 0 && !isMadeFrom(stamp)) {
    writeFileSync(join(made, STAMP), stamp)
    putInPlace(made, stamp)
  }
  rmSync(made, { recursive: true, force: true })
  return status === 0
}

/** @param {string} stamp */
function isMadeFrom(stamp) {
  const file = join(dist, STAMP)
  return existsSync(file) && readFileSync(file, "utf8") === stamp
}

/** @param {string} made @param {string} stamp */
function putInPlace(made, stamp) {
  const old = `${made}.old`
  try {
    if (existsSync(dist)) renameSync(dist, old)
    renameSync(made, dist)
  } catch (error) {
    // Somebody else was faster, with the same sources: then all is well.
    if (!isMadeFrom(stamp)) throw error
  } finally {
    rmSync(old, { recursive: true, force: true })
  }
}

/** The playground runs the library itself, so that its sources count too. */
function hashOfSources() {
  const hash = createHash("sha256")
  const library = join(root, "packages", "sluice", "src")
  for (const file of [...filesIn(folder), ...filesIn(library), join(root, "package-lock.json")])
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update("\0")
  return hash.digest("hex")
}

/** @param {string} path @returns {string[]} */
function filesIn(path) {
  return readdirSync(path, { withFileTypes: true })
    .filter(({ name }) => !/^(?:node_modules|dist)$|\.(?:test|test-support)\.tsx?$/.test(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => (entry.isDirectory() ? filesIn(join(path, entry.name)) : [join(path, entry.name)]))
}
