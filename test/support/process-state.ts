import { existsSync, readFileSync } from "node:fs"

/** Whether a process runs. One that has died but whose parent has not collected it yet (Z on Linux) does not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return processState(pid) !== "Z"
  } catch {
    return false
  }
}

/** The letter Linux has for it (`R` running, `S` sleeping, `T` stopped, `Z` dead); `undefined` on other systems. */
export function processState(pid: number): string | undefined {
  const file = `/proc/${pid}/stat`
  return existsSync(file) ? /\) (\w) /.exec(readFileSync(file, "utf8"))?.[1] : undefined
}
