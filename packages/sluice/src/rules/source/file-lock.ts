// Keeps two processes from changing one file at once: the service and the command line, say.

import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { hostname } from "node:os"
import { setTimeout as pause } from "node:timers/promises"
import { threadId } from "node:worker_threads"

const RETRY_MS = 5
/** A lock is held for a few writes. One this old was left by a machine that died. */
const ABANDONED_MS = 10_000

const OWNER = `${process.pid}.${threadId}@${hostname()}`

/** Runs a task while no other process that asks for the same lock runs one. */
export async function withLock<T>(file: string, task: () => T): Promise<T> {
  while (!tryLock(file)) {
    if (isAbandoned(file)) breakLock(file)
    else await pause(RETRY_MS)
  }
  try {
    return task()
  } finally {
    rmSync(file, { force: true })
  }
}

function tryLock(file: string): boolean {
  try {
    const handle = openSync(file, "wx", 0o600)
    writeFileSync(handle, OWNER)
    closeSync(handle)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false
    throw error
  }
}

function isAbandoned(file: string): boolean {
  try {
    const owner = readFileSync(file, "utf8")
    // A task does not wait, so that a lock of our own is never seen: it is from a process before us with the same number, as
    // in a container, where each is number 1.
    if (owner === OWNER) return true
    const [pid = "", host] = owner.split("@")
    if (host === hostname() && !isAlive(Math.floor(Number(pid)))) return true
    return Date.now() - statSync(file).mtimeMs > ABANDONED_MS
  } catch {
    // It was given back meanwhile.
    return false
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** Renamed first: of several that find it abandoned, one gets it. */
function breakLock(file: string): void {
  const aside = `${file}.${process.pid}`
  try {
    renameSync(file, aside)
    rmSync(aside, { force: true })
  } catch {
    // Somebody else was faster.
  }
}
