// Finds the programs that tests and benchmarks need, and downloads all missing ones in one step.
// `node scripts/tools/ensure.mjs redis-server wrk` prints their paths, one per line. With `--installed` it downloads nothing.

import { mkdirSync, readFileSync } from "node:fs"
import { dirname } from "node:path"
import { pathToFileURL } from "node:url"
import { hasDebianPackages, unpackDebian } from "./debian.mjs"
import { fetchedPath, findTool, toolCache, whyUnusable } from "./find.mjs"
import { tools, variableOf } from "./table.mjs"

/**
 * @typedef {object} Missing
 * @property {string} name
 * @property {string} reason
 *
 * @typedef {object} Ensured
 * @property {Record<string, string>} paths by the name of the tool
 * @property {string[]} fetched the tools that were downloaded now
 * @property {Missing[]} missing
 */

/**
 * @param {readonly string[]} names
 * @param {import("./find.mjs").Where & { fetch?: boolean, say?: (line: string) => void }} [options]
 * @returns {Ensured}
 */
export function ensureTools(
  names,
  { table = tools, cache = toolCache, fetch = true, say = sayOnStderr } = {},
) {
  /** @type {Ensured} */
  const ensured = { paths: {}, fetched: [], missing: [] }
  /** @type {Missing[]} */
  const absent = []
  for (const name of new Set(names)) {
    const found = findTool(name, { table, cache })
    if ("path" in found) ensured.paths[name] = found.path
    else if (found.isNamed) ensured.missing.push({ name, reason: found.reason })
    else absent.push({ name, reason: found.reason })
  }
  if (absent.length === 0) return ensured

  const problems = fetch ? fetchAll(absent, table, cache, say) : new Map()
  for (const { name, reason } of absent) {
    const path = fetchedPath(name, cache)
    const problem =
      !fetch || !canFetch(table[name]) ? reason : (problems.get(name) ?? whyUnusable(name, table[name], path))
    if (problem === undefined) {
      ensured.paths[name] = path
      ensured.fetched.push(name)
    } else ensured.missing.push({ name, reason: problem })
  }
  return ensured
}

/** The path of one tool. Throws an error that explains how to install it. @param {string} name */
export function ensureTool(name) {
  const { paths, missing } = ensureTools([name])
  if (missing.length > 0) throw new Error(explain(missing))
  return paths[name]
}

/**
 * A message that explains how to install missing tools.
 * @param {readonly Missing[]} missing @param {Readonly<Record<string, import("./table.mjs").Tool>>} [table]
 */
export function explain(missing, table = tools) {
  const lines = missing.map(({ name, reason }) => `  ${name} ${table[name].minVersion} or newer: ${reason}`)
  const variables = missing.map(({ name }) => variableOf(name)).join(", ")
  return [
    `These tools are needed and could not be found or downloaded:`,
    ...lines,
    "Install them with",
    "",
    ...commandsFor(
      missing.map(({ name }) => name),
      table,
    ).map((command) => `  ${command}`),
    "",
    `or set ${variables} to the path of the program.`,
  ].join("\n")
}

/**
 * The commands that install these tools: one for all Debian packages, and one for each other tool.
 * @param {readonly string[]} names @param {Readonly<Record<string, import("./table.mjs").Tool>>} table
 */
function commandsFor(names, table) {
  const system = thisSystem()
  const isDebian = system === "debian" || system === "ubuntu"
  const packages = new Set()
  const others = new Set()
  for (const name of names) {
    const { debian, byHand } = table[name]
    const own = byHand[system] ?? (isDebian ? byHand.debian : undefined)
    if (own !== undefined) others.add(own)
    else if (isDebian && debian !== undefined) packages.add(debian.name)
    else others.add(byHand.other)
  }
  const sudo = process.getuid?.() === 0 ? "" : "sudo "
  const install = `${sudo}apt-get update && ${sudo}apt-get install --no-install-recommends ${[...packages].join(" ")}`
  return packages.size === 0 ? [...others] : [install, ...others]
}

/** @returns {"debian" | "ubuntu" | "darwin" | "other"} */
function thisSystem() {
  if (process.platform === "darwin") return "darwin"
  if (!hasDebianPackages()) return "other"
  try {
    return /^ID=ubuntu$/m.test(readFileSync("/etc/os-release", "utf8")) ? "ubuntu" : "debian"
  } catch {
    return "debian"
  }
}

/** @param {import("./table.mjs").Tool} tool */
function canFetch(tool) {
  return tool.fetch !== undefined || (tool.debian !== undefined && hasDebianPackages())
}

/**
 * @param {readonly Missing[]} absent @param {Readonly<Record<string, import("./table.mjs").Tool>>} table
 * @param {string} cache @param {(line: string) => void} say
 * @returns {Map<string, string>} the reason for each tool that could not be downloaded
 */
function fetchAll(absent, table, cache, say) {
  /** @type {Map<string, string>} */
  const problems = new Map()
  const fetchable = absent.filter(({ name }) => canFetch(table[name]))
  if (fetchable.length === 0) return problems
  for (const { name, reason } of fetchable) if (reason !== "is not installed") say(`${name}: ${reason}`)
  const started = performance.now()
  say(`downloading ${fetchable.map(({ name }) => name).join(", ")} …`)
  const wanted = fetchable.flatMap(({ name }) => {
    const { debian, fetch } = table[name]
    if (fetch !== undefined || debian === undefined) return []
    const { name: from, program, isBackported } = debian
    return [{ name, package: from, program, ...(isBackported === true ? { isBackported } : {}) }]
  })
  if (wanted.length > 0) {
    attempt(
      wanted.map(({ name }) => name),
      () => {
        for (const [name, reason] of unpackDebian(wanted, cache, say)) problems.set(name, reason)
      },
    )
  }
  for (const { name } of fetchable) {
    const { fetch } = table[name]
    if (fetch === undefined) continue
    mkdirSync(dirname(fetchedPath(name, cache)), { recursive: true })
    attempt([name], () => fetch(fetchedPath(name, cache)))
  }
  say(`downloaded in ${((performance.now() - started) / 1000).toFixed(1)} s`)
  return problems

  function attempt(/** @type {string[]} */ names, /** @type {() => void} */ step) {
    try {
      step()
    } catch (error) {
      for (const name of names) problems.set(name, error instanceof Error ? error.message : String(error))
    }
  }
}

/** @param {string} line */
function sayOnStderr(line) {
  process.stderr.write(`${line}\n`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const names = process.argv.slice(2).filter((name) => name !== "--installed")
  const { paths, missing } = ensureTools(names, { fetch: !process.argv.includes("--installed") })
  if (missing.length === 0) console.log(names.map((name) => paths[name]).join("\n"))
  else console.error(explain(missing))
  process.exitCode = missing.length === 0 ? 0 : 1
}
