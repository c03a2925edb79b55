// Downloads Debian packages, with the dependencies that the system lacks, and unpacks them under node_modules/.cache. It works
// the same for root and other users: it installs nothing, starts no service, and does not need the system's package lists.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { basename, join, relative } from "node:path"
import { runCommand } from "../run-command.mjs"
import { backportsSources } from "./backports.mjs"
import { onPath } from "./find.mjs"

/**
 * A tool, its package, its path in the package, and whether older releases have the package only in their backports.
 * @typedef {{ name: string, package: string, program: string, isBackported?: boolean }} Wanted
 */

/** Packages that are not unpacked: the loader of the system works only with the C library of the same version. */
const NEVER_UNPACKED = new Set(["libc6", "libc-bin"])

const SYSTEM_LISTS = "/var/lib/apt/lists"

/** The prefixes of a folder while it is filled and when it is complete. */
const UNPACKING = "unpacking-"
const UNPACKED = "debian-"

const FONTS_FILE = "sluice-fonts.conf"
const FONTS = `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <dir>/usr/share/fonts</dir>
  <dir prefix="relative">usr/share/fonts</dir>
  <cachedir prefix="xdg">fontconfig</cachedir>
  <alias><family>sans-serif</family><prefer><family>DejaVu Sans</family></prefer></alias>
  <alias><family>serif</family><prefer><family>DejaVu Serif</family></prefer></alias>
  <alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
`

export function hasDebianPackages() {
  return onPath("apt-get").length > 0 && onPath("dpkg-deb").length > 0
}

/**
 * Downloads and unpacks all tools in one step, and writes a program to `cache/bin` for each.
 *
 * @param {readonly Wanted[]} wanted @param {string} cache @param {(line: string) => void} say
 * @returns {Map<string, string>} the reason for each tool that failed
 */
export function unpackDebian(wanted, cache, say) {
  mkdirSync(join(cache, "bin"), { recursive: true })
  const work = mkdtempSync(join(cache, UNPACKING))
  try {
    const packages = join(work, "packages")
    const unpacked = join(work, "root")
    mkdirSync(packages)
    mkdirSync(unpacked)
    const problems = download(wanted, packages, join(work, "apt"))
    const files = readdirSync(packages)
    const bytes = files.reduce((sum, file) => sum + statSync(join(packages, file)).size, 0)
    say(`unpacking ${files.length} Debian packages, ${Math.round(bytes / 1e6)} MB …`)
    for (const file of files) runCommand("dpkg-deb", ["-x", join(packages, file), unpacked], work)
    writeFileSync(join(unpacked, FONTS_FILE), FONTS)
    // mkdtemp denies access to other users, but another user may work in this clone next.
    chmodSync(unpacked, 0o755)
    const kept = join(cache, basename(work).replace(UNPACKING, UNPACKED))
    renameSync(unpacked, kept)
    const libraries = libraryFolders(kept)
    for (const { name, package: from, program } of wanted) {
      if (problems.has(name)) continue
      if (existsSync(join(kept, program)))
        replaceProgram(join(cache, "bin", name), startScript(basename(kept), program, libraries))
      else problems.set(name, `Debian's ${from} has no ${program}`)
    }
    return problems
  } finally {
    rmSync(work, { recursive: true, force: true })
    removeUnused(cache)
  }
}

/**
 * @param {readonly Wanted[]} wanted @param {string} folder @param {string} aptFolder
 * @returns {Map<string, string>} the reason for each tool whose package apt does not have
 */
function download(wanted, folder, aptFolder) {
  const backports = wanted.some(({ isBackported }) => isBackported)
    ? backportsSources(join(aptFolder, "sources"))
    : undefined
  /** @type {{ options: string[], versions: string[], problems: Map<string, string> } | undefined} */
  let found
  /** @type {unknown} */
  let failure
  const ways = [
    () => [],
    () => systemListsAnd(backports, aptFolder),
    // If the backports do not have the package or cannot be reached, new package lists do not help.
    () => (isBackportMissing(wanted, found?.problems) ? undefined : ownLists(backports, aptFolder)),
  ]
  for (const lists of ways) {
    try {
      const options = lists()
      if (options === undefined) continue
      failure = undefined
      found = { options, ...plan(options, wanted, folder) }
      // Old lists name packages that the server has removed. Then try the next lists.
      if (found.problems.size === 0) return fetchPlanned(found, folder)
    } catch (error) {
      failure = error
    }
  }
  if (found === undefined || (failure !== undefined && found.versions.length === 0)) throw failure
  return fetchPlanned(found, folder)
}

/**
 * Whether the system's lists have every package except those in the backports.
 * @param {readonly Wanted[]} wanted @param {Map<string, string> | undefined} problems
 */
function isBackportMissing(wanted, problems) {
  if (problems === undefined || problems.size === 0 || !hasSystemLists()) return false
  return wanted.every(({ name, isBackported }) => isBackported === true || !problems.has(name))
}

function hasSystemLists() {
  return existsSync(SYSTEM_LISTS) && readdirSync(SYSTEM_LISTS).some((name) => name.includes("_Packages"))
}

/** @param {{ options: string[], versions: string[], problems: Map<string, string> }} planned @param {string} folder */
function fetchPlanned({ options, versions, problems }, folder) {
  if (versions.length > 0) apt([...options, "download", ...versions], folder)
  return problems
}

/**
 * The packages that apt would install. A package that apt does not know must not prevent the others.
 * @param {readonly string[]} options @param {readonly Wanted[]} wanted @param {string} folder
 */
function plan(options, wanted, folder) {
  /** @type {Map<string, string>} */
  const problems = new Map()
  const simulate = (/** @type {readonly Wanted[]} */ some) =>
    // --reinstall, because the package may be installed with a program that does not work.
    apt(
      [
        ...options,
        "install",
        "--simulate",
        "--reinstall",
        "--no-install-recommends",
        ...new Set(some.map((one) => one.package)),
      ],
      folder,
    )
  let printed = ""
  try {
    printed = simulate(wanted)
  } catch {
    const known = wanted.filter((one) => {
      try {
        simulate([one])
        return true
      } catch (error) {
        problems.set(one.name, error instanceof Error ? error.message : String(error))
        return false
      }
    })
    if (known.length > 0) printed = simulate(known)
  }
  const versions = [...printed.matchAll(/^Inst (\S+) (?:\[[^\]]*\] )?\((\S+)/gm)].flatMap(
    ([, name = "", version]) => (NEVER_UNPACKED.has(name) ? [] : [`${name}=${version}`]),
  )
  return { versions, problems }
}

/**
 * Options of apt to use the system's package lists with those of the backports. Undefined if either is missing.
 * @param {import("./backports.mjs").Backports | undefined} backports @param {string} folder
 */
function systemListsAnd(backports, folder) {
  if (backports === undefined || !hasSystemLists()) return undefined
  const options = placesIn(join(folder, "with-backports"))
  const lists = join(folder, "with-backports", "lists")
  for (const name of readdirSync(SYSTEM_LISTS))
    if (name.includes("_dists_")) symlinkSync(join(SYSTEM_LISTS, name), join(lists, name))
  apt(
    [...options, ...backports.alone, "-o", "APT::Get::List-Cleanup=0", "-o", "Acquire::Retries=0", "update"],
    folder,
  )
  return [...options, ...backports.beside]
}

/**
 * Options of apt to use new package lists. The lists of the system may be missing or old, and only root may update them.
 * @param {import("./backports.mjs").Backports | undefined} backports @param {string} folder
 */
function ownLists(backports, folder) {
  const options = placesIn(join(folder, "own"))
  if (backports !== undefined) {
    try {
      apt([...options, ...backports.beside, "update"], folder)
      return [...options, ...backports.beside]
    } catch {
      // Not every server has the backports.
    }
  }
  apt([...options, "update"], folder)
  return options
}

/** @param {string} folder */
function placesIn(folder) {
  mkdirSync(join(folder, "lists", "partial"), { recursive: true })
  mkdirSync(join(folder, "cache", "archives", "partial"), { recursive: true })
  return ["-o", `Dir::State::Lists=${join(folder, "lists")}`, "-o", `Dir::Cache=${join(folder, "cache")}`]
}

/** @param {readonly string[]} args @param {string} cwd */
function apt(args, cwd) {
  // As root, apt downloads as a user who may not write to this folder, and warns about it. This option avoids the warning.
  const options = ["-q", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=2"]
  // With the default timeouts, apt needs minutes to report that there is no network.
  const limits = ["-o", "Acquire::http::Timeout=30", "-o", "Acquire::https::Timeout=30"]
  return runCommand("apt-get", [...options, ...limits, ...args], cwd)
}

/**
 * All folders below `root` that contain a shared library. Some packages keep libraries in their own folder and find it by a
 * path that is compiled in, and an unpacked package is not at that path. Chromium needs the one of pulseaudio.
 *
 * @param {string} root
 */
export function libraryFolders(root) {
  const folders = new Set()
  for (const file of readdirSync(root, { recursive: true, withFileTypes: true })) {
    if (!file.isDirectory() && /\.so(\.|$)/.test(file.name)) folders.add(relative(root, file.parentPath))
  }
  // The folders with the shortest paths first: they contain the most common libraries.
  return [...folders].sort((a, b) => a.split("/").length - b.split("/").length || (a < b ? -1 : 1))
}

/**
 * A shell script that starts the program with exec, so that the program gets its signals and process id.
 * @param {string} folder @param {string} program @param {readonly string[]} libraries
 */
function startScript(folder, program, libraries) {
  const searchPath = libraries.map((place) => `$root/${place}`).join(":")
  return `#!/bin/sh
root=$(cd "$(dirname "$0")/../${folder}" && pwd) || exit 127
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="$root/${FONTS_FILE}"
export SLUICE_UNPACKED="$root"
export LD_LIBRARY_PATH="${searchPath}\${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
exec "$root/${program}" "$@"
`
}

/** Replaces the script at once, because another process may be starting it. @param {string} path @param {string} text */
function replaceProgram(path, text) {
  writeFileSync(`${path}.new`, text, { mode: 0o755 })
  renameSync(`${path}.new`, path)
}

/** Removes the folders that no script in `cache/bin` refers to. @param {string} cache */
function removeUnused(cache) {
  const bin = join(cache, "bin")
  const scripts = readdirSync(bin, { withFileTypes: true })
    // Larger files are programs, not scripts.
    .filter((file) => file.isFile() && statSync(join(bin, file.name)).size < 100_000)
    .map((file) => readFileSync(join(bin, file.name), "utf8"))
  for (const folder of readdirSync(cache)) {
    if (folder.startsWith(UNPACKED) && !scripts.some((text) => text.includes(`/${folder}"`)))
      rmSync(join(cache, folder), { recursive: true, force: true })
  }
}
