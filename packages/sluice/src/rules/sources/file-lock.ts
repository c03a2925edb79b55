// Keeps two processes from changing one file at once: the service and the command line, say.
//
// A lock is a file that says who holds it. It is written whole under another name and then linked, so that it is never seen
// empty. Three rules make it hold after a crash:
//   - Each lock has a mark of its own, so that one lock is never taken for the next.
//   - A lock is only removed by who has claimed that very lock: the claim is a lock too, named after the mark. Of several
//     that find a lock abandoned one gets the claim, and it looks again before it removes anything.
//   - The owner removes its lock in the same way, so that it never removes that of somebody who took over.
// What a crash leaves of all that is swept under the lock: RuleFile.sweep.

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
import { threadId } from "node:worker_threads"
import { draftOf, isAlive } from "../../atomic-file.js"

const RETRY_MS = 5
/** A lock is held for a few writes. One this old, of a process that cannot be asked for, was left by a machine that died. */
const ABANDONED_MS = 10_000
/** Clocks differ: a lock that seems old is watched for so long, and must not change. */
const WATCHED_MS = 500
/** A process that lives and does not go on, because it was stopped, say, keeps its lock; who waits gives up. */
const MAX_WAIT_MS = 30_000

/** File systems that have no links say one of these. */
const NO_LINKS: readonly (string | undefined)[] = ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]

interface Seen {
  /** What the lock says, and which file it is: two empty ones are two locks. */
  readonly mark: string
  readonly owner: string
  readonly touchedAt: number
}

/** Runs a task while no other process that asks for the same lock runs one. Rejects when it has to wait for too long. */
export async function withLock<T>(file: string, task: () => T): Promise<T> {
  const mine = newOwner()
  const watch = new Watch()
  while (!tryLock(file, mine)) {
    const seen = look(file)
    if (seen === undefined) continue
    if (isAbandoned(seen, watch.of(seen))) {
      if (remove(file, seen, watch)) continue
    } else if (watch.total > MAX_WAIT_MS) throw new Error(`${file} is held by ${seen.owner || "somebody"}`)
    await pause(RETRY_MS)
  }
  try {
    return task()
  } finally {
    release(file, mine)
  }
}

/** How long locks have been the same, by a clock that nobody sets. */
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

/** `4711.0@host 8812345 k3j…`: process, thread, machine, when the process started, and what no other lock has. */
function newOwner(): string {
  return `${process.pid}.${threadId}@${hostname()} ${startOf(process.pid)} ${randomUUID()}\n`
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
    // A network drive may have made the link and lost the answer.
    if (code === "EEXIST") return look(file)?.owner === owner.trimEnd()
    // Who has the lock has swept the folder.
    if (code === "ENOENT") return false
    if (NO_LINKS.includes(code)) return tryCreate(file, owner)
    throw error
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Where there are no links: a crash in between leaves an empty lock. */
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
    // It was given back meanwhile.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}

function isAbandoned({ owner, touchedAt }: Seen, watchedMs: number): boolean {
  const parts = /^(\d+)\.(\d+)@(\S+)(?: (\d*) \S+)?$/.exec(owner)
  // Empty, or half written: it takes a moment to write the rest, unless the process has died or the disk is full.
  if (parts === null && !owner.includes("@")) return watchedMs > WATCHED_MS
  const isOld = Date.now() - touchedAt > ABANDONED_MS && watchedMs > WATCHED_MS
  if (parts === null || parts[3] !== hostname()) return isOld
  const [pid, thread] = [Number(parts[1]), Number(parts[2])]
  // A task does not wait, so that a lock of our own is never seen. It is from a process before us with the same number, as in
  // a container, where each is number 1; or from another container of the same name, if it is younger than this process.
  if (pid === process.pid && thread === threadId) return touchedAt < performance.timeOrigin || isOld
  if (!isAlive(pid)) return true
  const start = parts[4] ?? ""
  // A thread may end without its process.
  if (start === "" || startOf(pid) === "" || thread !== 0) return isOld
  return start !== startOf(pid)
}

/** When a process started, in ticks since the machine did: its number may be that of another one by now. Linux only. */
function startOf(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
    // The name of the program is in brackets, and may hold spaces and brackets.
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
    // Somebody has claimed it: it took us for dead, and either removes the lock or has died itself.
    if (watch.total > WATCHED_MS) return
  }
}

/** Removes a lock, unless it is another one by now. False when somebody else is about to. */
function remove(file: string, seen: Seen, watch: Watch): boolean {
  const claim = claimName(file, seen)
  if (!tryLock(claim, newOwner())) {
    const other = look(claim)
    if (other !== undefined && isAbandoned(other, watch.of(other))) remove(claim, other, watch)
    return false
  }
  try {
    // Nobody else removes this lock now, so that it is the same one here and on the next line.
    if (look(file)?.mark === seen.mark) rmSync(file, { force: true })
  } finally {
    rmSync(claim, { force: true })
  }
  return true
}

/** Where the right to remove the lock that is there now is claimed. */
export function claimOf(file: string): string {
  const seen = look(file)
  if (seen === undefined) throw new Error(`${file} is not there`)
  return claimName(file, seen)
}

function claimName(file: string, { mark }: Seen): string {
  return `${file}.${createHash("sha256").update(mark).digest("hex").slice(0, 16)}`
}

/** Whether this is the name of a claim. */
export function isClaim(name: string): boolean {
  return /\.lock(\.[0-9a-f]{16})+$/.test(name)
}
