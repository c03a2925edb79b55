// Keeps two processes, such as the service and the command line, from changing one file at once.
//
// A lock is a file that names its owner. It is written under another name and then linked, so that no process sees an empty
// lock. Three rules keep it safe after a crash:
//   - Each lock has a unique mark, so that two locks are never confused.
//   - A process removes a lock only if it holds the claim on that lock. A claim is itself a lock, named after the mark. If
//     several processes find an abandoned lock, one of them gets the claim, and it looks again before it removes the lock.
//   - The owner removes its lock in the same way, so that it never removes the lock of a process that took over.
// RuleFile.sweep removes, under the lock, the files that a crash leaves behind.

import { createHash, randomUUID } from "node:crypto"
import {
  closeSync,
  existsSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs"
import { hostname } from "node:os"
import { setTimeout as pause } from "node:timers/promises"
import { draftOf, isAlive } from "../../atomic-file.js"

const RETRY_MS = 5
/** A lock is held for a few writes. One this old, from a process that cannot be examined, was left by a machine that crashed. */
const ABANDONED_MS = 10_000
/** Clocks of machines differ: a lock that seems old must not change for this long before it counts as abandoned. */
const WATCHED_MS = 500
/** A live process keeps its lock even if it is suspended. Others give up after this time. */
const MAX_WAIT_MS = 30_000

/** Error codes of file systems without links. */
const NO_LINKS: readonly (string | undefined)[] = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]

interface Seen {
  /** The owner and the file: two empty locks are different locks. */
  readonly mark: string
  readonly owner: string
  readonly touchedAt: number
}

/** Runs a task while no other process runs one under the same lock. Rejects if it has to wait for too long. */
export async function withLock<T>(file: string, task: () => T): Promise<T> {
  const mine = newOwner()
  const watch = new Watch()
  while (!tryLock(file, mine)) {
    const seen = look(file)
    if (seen === undefined) continue
    if (isAbandoned(seen, watch.of(seen))) {
      if (remove(file, seen, watch)) continue
    } else if (watch.total > MAX_WAIT_MS)
      throw new Error(`${file} is held by ${seen.owner || "an unknown process"}`)
    await pause(RETRY_MS)
  }
  try {
    return task()
  } finally {
    release(file, mine)
  }
}

/** Measures how long locks have not changed, by a clock that is never set back. */
class Watch {
  readonly #since = performance.now()
  readonly #firstSeen = new Map<string, number>()

  of({ mark }: Seen): number {
    const now = performance.now()
    const since = this.#firstSeen.get(mark)
    if (since === undefined) this.#firstSeen.set(mark, now)
    return now - (since ?? now)
  }

  get total(): number {
    return performance.now() - this.#since
  }
}

/** The number of this thread. node:worker_threads is loaded here, because Workers load `sluice/rules` and have no such module. */
function threadId(): number {
  return process.getBuiltinModule("node:worker_threads").threadId
}

/** `4711.0@host 8812345 k3j…`: process, thread, machine, the start time of the process, and a random id. */
function newOwner(): string {
  return `${process.pid}.${threadId()}@${hostname()} ${startOf(process.pid)} ${randomUUID()}\n`
}

function tryLock(file: string, owner: string): boolean {
  if (existsSync(file)) return false
  const draft = draftOf(file)
  writeFileSync(draft, owner, { flag: "wx", mode: 0o600 })
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A network drive may have created the link and lost the response.
    if (code === "EEXIST") return look(file)?.owner === owner.trimEnd()
    // The owner of the lock has swept the folder.
    if (code === "ENOENT") return false
    if (NO_LINKS.includes(code)) return tryCreate(file, owner)
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

/** For file systems without links. A crash in between leaves an empty lock. */
function tryCreate(file: string, owner: string): boolean {
  let handle: number
  try {
    handle = openSync(file, "wx", 0o600)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false
    throw error
  }
  try {
    writeFileSync(handle, owner)
    return true
  } catch (error) {
    rmSync(file, { force: true })
    throw error
  } finally {
    closeSync(handle)
  }
}

function look(file: string): Seen | undefined {
  try {
    const { ino, mtimeMs } = statSync(file)
    const owner = readFileSync(file, "utf8").trimEnd()
    return { owner, mark: `${owner} ${ino} ${mtimeMs}`, touchedAt: mtimeMs }
  } catch (error) {
    // The owner has removed it in the meantime.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}

function isAbandoned({ owner, touchedAt }: Seen, watchedMs: number): boolean {
  const parts = /^(\d+)\.(\d+)@(\S+)(?: (\d*) \S+)?$/.exec(owner)
  // The lock is empty or incomplete. Its owner completes it at once, unless it has crashed or the disk is full.
  if (parts === null && !owner.includes("@")) return watchedMs > WATCHED_MS
  const isOld = Date.now() - touchedAt > ABANDONED_MS && watchedMs > WATCHED_MS
  if (parts === null || parts[3] !== hostname()) return isOld
  const [pid, thread] = [Number(parts[1]), Number(parts[2])]
  // This thread never meets its own lock, because tasks are synchronous. The lock is from an earlier process with the same
  // number, as in a container, where each is number 1; or, if it is younger than this process, from another container of the
  // same name.
  if (pid === process.pid && thread === threadId()) return touchedAt < performance.timeOrigin || isOld
  if (!isAlive(pid)) return true
  const start = parts[4] ?? ""
  // Another thread of a live process may have ended.
  if (start === "" || startOf(pid) === "" || thread !== 0) return isOld
  return start !== startOf(pid)
}

/** The start time of a process in ticks since boot, because numbers of processes are reused. Empty except on Linux. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The name of the program is in brackets, and may contain spaces and brackets.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? ""
  } catch {
    return ""
  }
}

function release(file: string, owner: string): void {
  const watch = new Watch()
  for (;;) {
    const seen = look(file)
    if (seen?.owner !== owner.trimEnd() || remove(file, seen, watch)) return
    // Another process holds the claim: it removes the lock, or it has crashed.
    if (watch.total > WATCHED_MS) return
  }
}

/** Removes a lock, unless it has become another one. False if another process holds the claim. */
function remove(file: string, seen: Seen, watch: Watch): boolean {
  const claim = claimName(file, seen)
  if (!tryLock(claim, newOwner())) {
    const other = look(claim)
    if (other !== undefined && isAbandoned(other, watch.of(other))) remove(claim, other, watch)
    return false
  }
  try {
    // With the claim, no other process removes this lock between the look and the removal.
    if (look(file)?.mark === seen.mark) rmSync(file, { force: true })
  } finally {
    rmSync(claim, { force: true })
  }
  return true
}

/** The file with the claim on the current lock. */
export function claimOf(file: string): string {
  const seen = look(file)
  if (seen === undefined) throw new Error(`${file} does not exist`)
  return claimName(file, seen)
}

function claimName(file: string, { mark }: Seen): string {
  return `${file}.${createHash("sha256").update(mark).digest("hex").slice(0, 16)}`
}

/** Whether this is the name of a claim. */
export function isClaim(name: string): boolean {
  return /\.lock(\.[0-9a-f]{16})+$/.test(name)
}
