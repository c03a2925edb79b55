// Finds a program on this machine and runs it to check that it works.

import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { delimiter, join } from "node:path"
import { root } from "../root.mjs"
import { tools, variableOf } from "./table.mjs"

/** @typedef {import("./table.mjs").Tool} Tool */

/** The folder of downloaded programs. `npm ci` removes it. */
export const toolCache = join(root, "node_modules", ".cache", "tools")

/**
 * The table and the folder to use instead of the real ones, for tests.
 * @typedef {{ table?: Readonly<Record<string, Tool>>, cache?: string }} Where
 */

/**
 * The path of the first program that works, or the reason why none does. It tries the program that the environment variable
 * names, and no other if there is one; then those on the PATH, and then the downloaded one.
 *
 * @param {string} name @param {Where} [where]
 * @returns {{ path: string } | { reason: string, isNamed: boolean }}
 */
export function findTool(name, { table = tools, cache = toolCache } = {}) {
  const tool = table[name]
  if (tool === undefined) throw new Error(`scripts/tools/table.mjs has no tool ${name}`)
  const variable = variableOf(name)
  const named = process.env[variable]
  if (named) {
    const reason = whyUnusable(name, tool, named)
    return reason === undefined
      ? { path: named }
      : { reason: `${variable}=${named}: ${reason}`, isNamed: true }
  }
  const places = [
    ...(tool.commands ?? [name]).flatMap(onPath),
    ...(tool.places ?? []),
    tool.elsewhere?.(),
    fetchedPath(name, cache),
  ]
  let reason = "is not installed"
  for (const path of places) {
    if (path === undefined || !existsSync(path)) continue
    const problem = whyUnusable(name, tool, path)
    if (problem === undefined) return { path }
    reason = `${path} ${problem}`
  }
  return { reason, isNamed: false }
}

/** @param {string} name @param {string} [cache] */
export function fetchedPath(name, cache = toolCache) {
  return join(cache, "bin", name)
}

/** @param {string} command */
export function onPath(command) {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .filter((folder) => folder !== "")
    .map((folder) => join(folder, command))
    .filter((path) => existsSync(path))
}

/** @param {string} name @param {Tool} tool @param {string} path @returns {string | undefined} */
export function whyUnusable(name, tool, path) {
  const { versionArguments = ["--version"], versionStatus = 0 } = tool
  const { status, stdout, stderr, error } = spawnSync(path, versionArguments, {
    encoding: "utf8",
    timeout: 30_000,
  })
  if (error || status !== versionStatus)
    return `does not run: ${error?.message ?? (stderr.trim() || `exit status ${status}`)}`
  const printed = stdout.trim() === "" ? stderr.trim() : stdout.trim()
  const version = tool.version.exec(printed)?.[1]
  if (!version) return `is not ${name}: ${versionArguments.join(" ")} printed "${printed}"`
  if (!isNewEnough(version, tool.minVersion))
    return `is version ${version}, but ${tool.minVersion} or newer is required`
  return tool.check?.(path)
}

/** @param {string} found @param {string} minVersion */
export function isNewEnough(found, minVersion) {
  const a = found.split(".").map(Number)
  const b = minVersion.split(".").map(Number)
  for (let i = 0; i < b.length; i++) {
    if ((a[i] ?? 0) !== b[i]) return (a[i] ?? 0) > b[i]
  }
  return true
}
