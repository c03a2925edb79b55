// Brings a fresh clone to the point where a benchmark can run: the tools, the built library, and the peers it is compared
// with. Everything it prints goes to stderr, because stdout belongs to the figures.

import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

export const benchFolder = dirname(dirname(fileURLToPath(import.meta.url)))
const repository = dirname(benchFolder)
const stampFile = join(benchFolder, "node_modules", ".sluice-bench-installed")

/** @param {string} project  what is measured */
export function setUp(project = "packages/sluice") {
  run(process.execPath, [
    "--input-type=module",
    "--eval",
    "await (await import('./scripts/bootstrap.mjs')).install()",
  ])
  run(process.execPath, ["scripts/build.mjs", project])
  installPeers()
}

/**
 * The exact version of each package.
 * @param {readonly string[]} packages
 */
export function measuredVersions(packages) {
  const { dependencies } = readJson(join(benchFolder, "package.json"))
  /** @type {Record<string, string>} */
  const versions = {}
  for (const name of packages) {
    const version = dependencies[name]
    if (version === undefined) throw new Error(`bench/package.json does not have ${name}`)
    const folder = version.startsWith("file:") ? join(benchFolder, version.slice("file:".length)) : undefined
    versions[name] = folder === undefined ? version : readJson(join(folder, "package.json")).version
  }
  return versions
}

/**
 * The path of a program that npm does not carry.
 * @param {"redis-server" | "redis-benchmark" | "h2load" | "nginx" | "wrk"} tool
 */
export function ensureTool(tool) {
  const { status, stdout } = spawnSync(process.execPath, ["scripts/tools/ensure.mjs", tool], {
    cwd: repository,
    encoding: "utf8",
    stdio: ["ignore", "pipe", 2],
  })
  if (status !== 0) throw new Error(`${tool} is needed to run this benchmark`)
  return stdout.trim()
}

function installPeers() {
  const lock = readFileSync(join(benchFolder, "package-lock.json"))
  const stamp = `${createHash("sha256").update(lock).digest("hex")} ${process.version}\n`
  if (readIfThere(stampFile) === stamp) return
  process.stderr.write("Installing the peers (only when bench/package-lock.json changed) …\n")
  run(
    "npm",
    ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline", "--loglevel=error"],
    benchFolder,
  )
  writeFileSync(stampFile, stamp)
}

/**
 * @param {string} command
 * @param {string[]} args
 */
function run(command, args, cwd = repository) {
  const shell = command === "npm" && process.platform === "win32"
  const { status, error } = spawnSync(command, args, { cwd, shell, stdio: ["ignore", 2, 2] })
  if (error) throw error
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} ended with ${status}`)
}

/** @param {string} path */
function readJson(path) {
  return JSON.parse(readFileSync(path, "utf8"))
}

/** @param {string} path */
function readIfThere(path) {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}
