// Loaded on use, because the library also runs where these modules do not exist.
const crypto = () => process.getBuiltinModule("node:crypto")
const fs = () => process.getBuiltinModule("node:fs")
const os = () => process.getBuiltinModule("node:os")
const path = () => process.getBuiltinModule("node:path")

/** Longer than writing a file takes. A younger draft may still be in use. */
const ABANDONED_MS = 60_000

/** Replaces a file atomically: readers see the old or the new content, also after a crash. */
export function replaceFile(file: string, content: Uint8Array | string, mode = 0o600): void {
  const { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } = fs()
  const draft = draftOf(file)
  // `wx` fails if the draft exists, so that a planted link cannot make us overwrite another file.
  const handle = openSync(draft, "wx", mode)
  try {
    try {
      writeFileSync(handle, content)
      fsyncSync(handle)
    } finally {
      closeSync(handle)
    }
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  }
  syncFolder(file)
}

/** Syncs the folder of a file. Only then does a created or renamed file survive a crash. */
export function syncFolder(file: string): void {
  const { closeSync, fsyncSync, openSync } = fs()
  const folder = openSync(path().dirname(file), "r")
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** An unguessable name for a draft beside a file: `.rules.yaml.4711@host.a1b2c3d4e5f60718.draft`. */
export function draftOf(file: string): string {
  const random = crypto().randomBytes(8).toString("hex")
  return path().join(path().dirname(file), `.${path().basename(file)}.${writer()}.${random}.draft`)
}

/**
 * Removes the drafts that killed writers left. With `isLocked`, no other process can be writing, and all drafts are removed;
 * without it, only old drafts and those of dead processes on this machine.
 */
export function sweepDrafts(file: string, { isLocked = false } = {}): void {
  const { readdirSync, rmSync } = fs()
  const folder = path().dirname(file)
  const start = `.${path().basename(file)}.`
  try {
    for (const name of readdirSync(folder)) {
      const draft = path().join(folder, name)
      if (name.startsWith(start) && isDraft(name) && (isLocked || isLeft(draft)))
        rmSync(draft, { force: true })
    }
  } catch {
    // A draft that stays does no harm.
  }
}

/** Whether this is the name of a draft of any file. */
export function isDraft(name: string): boolean {
  return /\.\d+@.+\.[0-9a-f]{16}\.draft$/.test(name)
}

function writer(): string {
  return `${process.pid}@${os().hostname()}`
}

function isLeft(draft: string): boolean {
  const touched = fs().statSync(draft, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (Date.now() - touched > ABANDONED_MS) return true
  const [, pid, host] = /\.(\d+)@(.+)\.[0-9a-f]{16}\.draft$/.exec(draft) ?? []
  if (host !== os().hostname()) return false
  // An earlier process may have had our process id, as in a container.
  return Number(pid) === process.pid ? touched < performance.timeOrigin : !isAlive(Number(pid))
}

/** Whether a process with this id runs on this machine. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** The message of a file system error without file names: `ENOSPC: no space left on device`. */
export function fileProblem(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).split(", ", 1)[0] as string
}
