import { existsSync, readFileSync } from "node:fs"

/** Whether a process runs. A zombie (state Z on Linux), whose parent has not reaped it yet, does not run. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return processState(pid) !== "Z"
  } catch {
    return false
  }
}

/** The state letter of a process on Linux (`R` running, `S` sleeping, `T` stopped, `Z` dead); `undefined` on other systems. */
export function processState(pid: number): string | undefined {
  const file = `/proc/${pid}/stat`
  return existsSync(file) ? /\) (\w) /.exec(readFileSync(file, "utf8"))?.[1] : undefined
}
