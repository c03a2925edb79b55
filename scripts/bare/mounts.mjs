import { existsSync, readFileSync, realpathSync } from "node:fs"
import { sep } from "node:path"
import { must } from "../tools/must.mjs"

/** What is mounted at or below a folder. @param {string} folder @param {string} [mountinfo] */
export function mountsBelow(folder, mountinfo = readFileSync("/proc/self/mountinfo", "utf8")) {
  return mountinfo
    .split("\n")
    .map((line) =>
      (line.split(" ")[4] ?? "").replace(/\\(\d{3})/g, (_, octal) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    )
    .filter((place) => place === folder || place.startsWith(folder + sep))
}

/**
 * Removes a folder with all that is in it, unless something is mounted there: what is mounted may be the machine's own.
 * @param {string} folder
 */
export function removeTree(folder) {
  if (!existsSync(folder)) return
  const mounted = mountsBelow(realpathSync(folder))
  if (mounted.length > 0)
    throw new Error(
      `${folder} stays: these are still mounted, unmount them and remove it by hand:\n${mounted.join("\n")}`,
    )
  // It stops at a mount even if one has come since, which Node's own removal does not.
  must("rm", ["-rf", "--one-file-system", folder], "/")
}
