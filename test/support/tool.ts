import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))
const found = new Map<string, string>()

/**
 * Returns the path of a program that npm cannot install, by its name in scripts/tools/table.mjs. `npm test` provides all
 * programs before the tests and passes their paths. A test that runs alone uses an installed or downloaded program. If there
 * is none, `toolPath` throws an error that says how to get it.
 *
 * Write the name as a literal: `npm test` reads from the sources which files need which tool (scripts/tools/needs.mjs).
 */
export function toolPath(name: string): string {
  const told = process.env[`SLUICE_${name.toUpperCase().replaceAll("-", "_")}`]
  const known = told === undefined || told === "" ? found.get(name) : told
  if (known !== undefined) return known
  const args = ["scripts/tools/ensure.mjs", "--installed", name]
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" })
  if (status !== 0) throw new Error(stderr.trim())
  const path = stdout.trim()
  found.set(name, path)
  return path
}
