// The packages as npm would publish them. npm uses three seconds of processor time to pack them, so all test files share the
// tarballs, which are made again when a file of a package has changed.

import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"

export const root = fileURLToPath(new URL("../../", import.meta.url))

const cache = join(root, "node_modules", ".cache", "packed")

/** The path of the tarball of a package. Build the package first. */
export function tarballOf(name: string): string {
  const folder = join(cache, stateOfPackages())
  if (!existsSync(folder)) pack(folder)
  const start = `${name.replace("@", "").replace("/", "-")}-`
  const tarball = readdirSync(folder).find(
    (file) => file.startsWith(start) && /^\d/.test(file.slice(start.length)),
  )
  if (tarball === undefined) throw new Error(`npm did not pack ${name}`)
  return join(folder, tarball)
}

/** Packs into `folder`, or waits for another process that does. */
function pack(folder: string): void {
  mkdirSync(cache, { recursive: true })
  const lock = `${folder}.lock`
  const isOurs = mkdirSync(lock, { recursive: true }) !== undefined
  const pause = new Int32Array(new SharedArrayBuffer(4))
  // Whoever died while packing left the lock.
  for (let waited = 0; !isOurs && waited < 40_000; waited += 100) {
    if (existsSync(folder)) return
    Atomics.wait(pause, 0, 0, 100)
  }
  const draft = mkdtempSync(join(cache, "draft-"))
  execFileSync("npm", ["pack", "--silent", "--workspaces", `--pack-destination=${draft}`], { cwd: root })
  try {
    renameSync(draft, folder)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
  removeOld(folder)
}

/** Removes what was packed more than an hour ago: another run of the tests may still use the rest. */
function removeOld(kept: string): void {
  for (const name of readdirSync(cache)) {
    const folder = join(cache, name)
    const age = Date.now() - (statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? 0)
    if (folder !== kept && age > 3_600_000) rmSync(folder, { recursive: true, force: true })
  }
}

/** A hash of the names, sizes and times of all files of the packages. */
function stateOfPackages(): string {
  const hash = createHash("sha256")
  const packages = join(root, "packages")
  for (const entry of readdirSync(packages, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile() || /[\\/]node_modules[\\/]/.test(relative(packages, path))) continue
    const { size, mtimeMs } = statSync(path)
    hash.update(`${path}\0${size}\0${mtimeMs}\0`)
  }
  return hash.digest("hex").slice(0, 32)
}
