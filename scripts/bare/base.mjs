// The minimal Debian that every run starts from: made once by debootstrap, kept as a tarball.

import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import { must } from "../tools/must.mjs"
import { debianSources } from "./apt-sources.mjs"
import { removeTree } from "./mounts.mjs"

/** The release of this machine, so that its package sources and keys fit; Debian 12 if it is no Debian. */
export function release() {
  const text = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : ""
  const codename = /^VERSION_CODENAME=(\w+)$/m.exec(text)?.[1]
  return codename !== undefined && debianSources(codename).length > 0 ? codename : "bookworm"
}

/**
 * The path of the tarball.
 * @param {string} work an empty folder to make it in @param {boolean} fresh @param {(line: string) => void} say
 */
export function baseTarball(work, fresh, say) {
  const codename = release()
  const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "sluice")
  const tarball = join(cache, `bare-${codename}-${process.arch}.tar`)
  if (existsSync(tarball) && !fresh) return tarball
  const folder = join(work, "base")
  const mirror = debianSources(codename).find(({ suites }) => suites.includes(codename))?.uris[0]
  say(`debootstrap makes a minimal ${codename} (kept for the next time in ${tarball}) …`)
  const args = ["--variant=minbase", codename, folder, ...(mirror === undefined ? [] : [mirror])]
  // It mounts /proc and /sys in the folder. In a namespace of its own these go with it, however it ends.
  const namespace = ["--mount", "--propagation", "private", "debootstrap"]
  const { status, stdout, error } = spawnSync("unshare", [...namespace, ...args], {
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  })
  if (error || status !== 0)
    throw new Error(`debootstrap failed: ${error?.message ?? stdout.trim().split("\n").slice(-5).join("\n")}`)
  forgetLists(folder)
  mkdirSync(dirname(tarball), { recursive: true })
  must("tar", ["--numeric-owner", "-cf", `${tarball}.new`, "-C", folder, "."], work)
  renameSync(`${tarball}.new`, tarball)
  removeTree(folder)
  return tarball
}

/** A new machine has neither package lists nor packages. @param {string} folder */
function forgetLists(folder) {
  for (const place of ["var/lib/apt/lists", "var/cache/apt"]) {
    const path = join(folder, place)
    for (const name of readdirSync(path)) rmSync(join(path, name), { recursive: true })
  }
}
