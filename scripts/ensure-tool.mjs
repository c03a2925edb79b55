// Finds a program that the tests need and npm does not carry. On Debian and its relatives a missing one is fetched from the
// system's own package sources and unpacked under node_modules/.cache: no root needed, nothing installed, no service started.

import { spawnSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs"
import { delimiter, join } from "node:path"
import { pathToFileURL } from "node:url"
import { root } from "./root.mjs"

/**
 * @typedef {object} Tool
 * @property {string} command its name on the PATH
 * @property {string} variable the environment variable that names a binary to use instead
 * @property {string} oldest the oldest version that will do
 * @property {RegExp} version finds the version in what `command --version` prints
 * @property {string[]} [versionArguments] what to give it in place of `--version`
 * @property {number} [versionStatus] what it ends with then, when not 0
 * @property {string} [folder] where it is in the package, when not in `usr/bin`
 * @property {string} [debianPackage] the package that holds it, when it is not named like it
 * @property {(folder: string) => void} [fetch] puts it into a folder that is not there yet, when no Debian package has it
 * @property {{ debian: string, darwin: string, other: string }} byHand the command a person runs to get it
 */

/**
 * @param {Tool} tool
 * @returns {string} the path of a binary that runs and is new enough
 */
export function ensureTool(tool) {
  const named = process.env[tool.variable]
  if (named) {
    const reason = whyUnusable(tool, named)
    if (reason) throw new Error(`${tool.variable}=${named}: ${reason}`)
    return named
  }
  const cached = join(root, "node_modules", ".cache", "tools", tool.command, tool.command)
  const found = [...onPath(tool.command), cached].find((path) => existsSync(path) && !whyUnusable(tool, path))
  if (found) return found

  const canFetch = tool.fetch !== undefined || (onPath("apt-get").length && onPath("dpkg-deb").length)
  if (!canFetch) throw new Error(howToGet(tool))
  try {
    console.error(`${tool.command} ${tool.oldest} or newer is not here: fetching a package for the tests …`)
    const folder = join(cached, "..")
    if (tool.fetch) tool.fetch(folder)
    else unpackDebianPackage(tool, folder)
  } catch (error) {
    throw new Error(`${howToGet(tool)}\n(${error instanceof Error ? error.message : error})`)
  }
  const reason = whyUnusable(tool, cached)
  if (reason) throw new Error(`${howToGet(tool)}\n(the package's own ${tool.command}: ${reason})`)
  return cached
}

/**
 * For a script that is also a command: prints the path, or says what to do.
 *
 * @param {string} scriptUrl
 * @param {() => string} ensure
 */
export function printTool(scriptUrl, ensure) {
  if (scriptUrl !== pathToFileURL(process.argv[1] ?? "").href) return
  try {
    console.log(ensure())
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}

/** @param {string} found @param {string} oldest */
export function isNewEnough(found, oldest) {
  const a = found.split(".").map(Number)
  const b = oldest.split(".").map(Number)
  for (let i = 0; i < b.length; i++) {
    if ((a[i] ?? 0) !== b[i]) return (a[i] ?? 0) > b[i]
  }
  return true
}

/** @param {Tool} tool @param {string} path @returns {string | undefined} */
function whyUnusable(tool, path) {
  const { versionArguments = ["--version"], versionStatus = 0 } = tool
  const { status, stdout, stderr, error } = spawnSync(path, versionArguments, {
    encoding: "utf8",
    timeout: 10_000,
  })
  if (error || status !== versionStatus) return `does not run: ${error?.message ?? stderr.trim()}`
  const printed = stdout.trim() === "" ? stderr.trim() : stdout.trim()
  const version = tool.version.exec(printed)?.[1]
  if (!version)
    return `does not look like ${tool.command}: ${versionArguments.join(" ")} printed "${printed}"`
  if (!isNewEnough(version, tool.oldest))
    return `is version ${version}, and ${tool.oldest} or newer is needed`
  return undefined
}

/** @param {Tool} tool */
function howToGet(tool) {
  const system = onPath("apt-get").length ? "debian" : process.platform === "darwin" ? "darwin" : "other"
  return (
    `The tests need ${tool.command} ${tool.oldest} or newer, and it could not be had here. Get it by\n\n  ${tool.byHand[system]}\n\n` +
    `or, if you have it elsewhere, set ${tool.variable} to its path.`
  )
}

/** @param {string} command */
function onPath(command) {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, command))
    .filter((path) => existsSync(path))
}

/** Unpacks the package and those of its dependencies that the system lacks, with a starter that finds their libraries. */
function unpackDebianPackage(tool, target) {
  const name = tool.debianPackage ?? tool.command
  mkdirSync(join(target, ".."), { recursive: true })
  const work = mkdtempSync(`${target}-`)
  try {
    const packages = join(work, "packages")
    mkdirSync(packages)
    // The system's package lists may be missing or old, and only root may renew them: then use lists of our own.
    if (!download(name, packages, [])) {
      const own = ownAptFolders(join(work, "apt"))
      apt([...own, "update"], packages)
      if (!download(name, packages, own)) throw new Error(`apt knows no package ${name}`)
    }
    const unpacked = join(work, "root")
    for (const file of readdirSync(packages)) must("dpkg-deb", ["-x", join(packages, file), unpacked], work)
    writeFileSync(join(work, tool.command), starter(tool, unpacked), { mode: 0o755 })
    rmSync(packages, { recursive: true })
    rmSync(join(work, "apt"), { recursive: true, force: true })
    // A temporary folder is for its maker only; the cache may be read by whoever uses this clone next.
    chmodSync(work, 0o755)
    rmSync(target, { recursive: true, force: true })
    renameSync(work, target)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** @param {string} name @param {string} folder @param {string[]} options */
function download(name, folder, options) {
  try {
    const plan = apt([...options, "install", "--simulate", "--no-install-recommends", name], folder)
    const missing = [...plan.matchAll(/^Inst (\S+) (?:\[[^\]]*\] )?\((\S+)/gm)].map(
      ([, needed, version]) => `${needed}=${version}`,
    )
    if (missing.length === 0) return false
    apt([...options, "download", ...missing], folder)
    return true
  } catch {
    return false
  }
}

/** @param {string} folder */
function ownAptFolders(folder) {
  mkdirSync(join(folder, "lists", "partial"), { recursive: true })
  mkdirSync(join(folder, "cache", "archives", "partial"), { recursive: true })
  return ["-o", `Dir::State::Lists=${join(folder, "lists")}`, "-o", `Dir::Cache=${join(folder, "cache")}`]
}

/** @param {string[]} args @param {string} cwd */
function apt(args, cwd) {
  // Root's apt drops to a user who may not write here; the download goes on either way, this only spares the warning.
  return must("apt-get", ["-q", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=2", ...args], cwd)
}

/** @param {string} command @param {string[]} args @param {string} cwd */
export function must(command, args, cwd) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    env: { ...process.env, LC_ALL: "C" },
  })
  if (error || status !== 0)
    throw new Error(`${command} ${args.join(" ")}: ${error?.message ?? stderr.trim()}`)
  return stdout
}

/** A shell script that becomes the program, so that signals and the process id are the program's own. */
function starter({ command, folder = "usr/bin" }, unpacked) {
  const libraries = ["usr/lib", "lib"].flatMap((place) => {
    const path = join(unpacked, place)
    const perMachine = existsSync(path) ? readdirSync(path).filter((name) => name.includes("-linux-")) : []
    return [...perMachine.map((name) => `${place}/${name}`), place]
  })
  const searchPath = libraries.map((place) => `$root/${place}`).join(":")
  return `#!/bin/sh
root=$(dirname "$0")/root
LD_LIBRARY_PATH="${searchPath}\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" exec "$root/${folder}/${command}" "$@"
`
}
