import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../../", import.meta.url))
const found = new Map<string, string>()

/**
 * The path of a program that npm does not carry, by its name in scripts/tools/table.mjs. `npm test` gets them all before the
 * tests and says where they are; a test that is run alone finds one that is installed or was fetched, and otherwise throws
 * an error that says how to get it.
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
