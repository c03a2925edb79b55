import { cpSync, existsSync, lstatSync, mkdirSync } from "node:fs"
import { dirname, join } from "node:path"
import { root } from "../root.mjs"
import { must } from "../tools/must.mjs"

/** Copies the working tree as it is: what is committed and what is not, but nothing that git ignores. @param {string} folder */
export function copyWorkingTree(folder, from = root) {
  // Git refuses a repository of another user, and with sudo this one is.
  const listing = [
    "-c",
    `safe.directory=${from}`,
    "ls-files",
    "-z",
    "--cached",
    "--others",
    "--exclude-standard",
  ]
  const files = must("git", listing, from).split("\0")
  for (const file of files) {
    const source = join(from, file)
    // Deleted, and not yet from git's list.
    if (file === "" || !existsSync(source) || lstatSync(source).isDirectory()) continue
    const target = join(folder, file)
    mkdirSync(dirname(target), { recursive: true })
    cpSync(source, target, { verbatimSymlinks: true })
  }
}
