import { readFileSync } from "node:fs"

/** Of the fields after the name, which stands in brackets: those of user and of system time. */
const USER = 11
const SYSTEM = 12
/** Linux tells it in these, on every machine that Node runs on. */
const TICKS_PER_SECOND = 100

/**
 * Processor time that a process has taken so far, in µs; undefined where the system does not tell.
 * @param {number | undefined} pid
 */
export function processorTime(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8")
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
    return ((Number(fields[USER]) + Number(fields[SYSTEM])) / TICKS_PER_SECOND) * 1e6
  } catch {
    return undefined
  }
}
