// Makes the minimal Debian that every run starts from, with debootstrap, and keeps it as a tarball.

import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { runCommand } from "../run-command.mjs"
import { debianSources } from "./apt-sources.mjs"
import { removeTree } from "./mounts.mjs"

/** The Debian release of this machine, because its apt sources and keys fit that release. Debian 12 on other systems. */
export function release() {
  const text = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : ""
  const codename = /^VERSION_CODENAME=(\w+)$/m.exec(text)?.[1]
  return codename !== undefined && debianSources(codename).length > 0 ? codename : "bookworm"
}

/**
 * The path of the tarball, which is made if there is none yet.
 * @param {string} work an empty folder to make it in @param {boolean} fresh @param {(line: string) => void} say
 */
export function baseTarball(work, fresh, say) {
  const codename = release()
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "sluice")
  const tarball = join(cache, `bare-${codename}-${process.arch}.tar`)
  if (existsSync(tarball) && !fresh) return tarball
  const folder = join(work, "base")
  const mirror = debianSources(codename).find(({ suites }) => suites.includes(codename))?.uris[0]
  say(`making a minimal ${codename} with debootstrap (kept in ${tarball}) …`)
  const args = ["--variant=minbase", codename, folder, ...(mirror === undefined ? [] : [mirror])]
  // debootstrap mounts /proc and /sys in the folder. In its own namespace, the mounts end with the process.
  const namespace = ["--mount", "--propagation", "private", "debootstrap"]
  const { status, stdout, error } = spawnSync("unshare", [...namespace, ...args], {
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  })
  if (error || status !== 0)
    throw new Error(`debootstrap failed: ${error?.message ?? stdout.trim().split("\n").slice(-5).join("\n")}`)
  removeAptFiles(folder)
  mkdirSync(dirname(tarball), { recursive: true })
  runCommand("tar", ["--numeric-owner", "-cf", `${tarball}.new`, "-C", folder, "."], work)
  renameSync(`${tarball}.new`, tarball)
  removeTree(folder)
  return tarball
}

/** Removes package lists and downloaded packages: a new machine has none. @param {string} folder */
function removeAptFiles(folder) {
  for (const place of ["var/lib/apt/lists", "var/cache/apt"]) {
    const path = join(folder, place)
    for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true })
  }
}
