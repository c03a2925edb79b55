// Reading files, for the build and test scripts.

import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { root } from "./root.mjs"

/** The text of a file, or undefined if it cannot be read. @param {string} path */
export function readIfExists(path) {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}

/**
 * All files in a folder and its subfolders, sorted.
 *
 * @param {string} folder
 * @param {RegExp} [ignored] matches the names of files and folders to leave out
 * @returns {string[]}
 */
export function filesIn(folder, ignored) {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !ignored?.test(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? filesIn(path, ignored) : [path]
    })
}

/** A hash of the names and contents of files. @param {readonly string[]} files */
export function hashOfFiles(files) {
  const hash = createHash("sha256")
  for (const file of files)
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update("\0")
  return hash.digest("hex")
}
