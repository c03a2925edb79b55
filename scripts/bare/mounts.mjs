import { existsSync, readFileSync, realpathSync } from "node:fs"
import { sep } from "node:path"
import { runCommand } from "../run-command.mjs"

/** The mount points at or below a folder. @param {string} folder @param {string} [mountinfo] */
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
 * Removes a folder with its content. Refuses if something is mounted in it, which may be a folder of this machine.
 * @param {string} folder
 */
export function removeTree(folder) {
  if (!existsSync(folder)) return
  const mounted = mountsBelow(realpathSync(folder))
  if (mounted.length > 0)
    throw new Error(
      `${folder} was not removed, because these are still mounted. Unmount them and remove it by hand:\n${mounted.join("\n")}`,
    )
  // Unlike rmSync, this stops at a mount that appeared since the check.
  runCommand("rm", ["-rf", "--one-file-system", folder], "/")
}
