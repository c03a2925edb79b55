// Not imported statically: the library also loads where there are no files.
const crypto = () => process.getBuiltinModule("node:crypto")
const fs = () => process.getBuiltinModule("node:fs")
const os = () => process.getBuiltinModule("node:os")
const path = () => process.getBuiltinModule("node:path")

/** Longer than a file takes to write. A younger draft may be somebody's who is at it. */
const ABANDONED_MS = 60_000

/** Replaces a file so that anyone sees the old content or the new, whole, also after a crash in the middle. */
export function replaceFile(file: string, content: Uint8Array | string, mode = 0o600): void {
  const { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } = fs()
  const draft = draftOf(file)
  // Not one that is there already: somebody may have put a link there, to have another file written over.
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

/** Writes the folder of a file to disk: a file that was created or renamed is only safe from a crash after that. */
export function syncFolder(file: string): void {
  const { closeSync, fsyncSync, openSync } = fs()
  const folder = openSync(path().dirname(file), "r")
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}

/** A name beside a file that nobody can guess: `.rules.yaml.4711@host.a1b2c3d4e5f60718.draft`. */
export function draftOf(file: string): string {
  const random = crypto().randomBytes(8).toString("hex")
  return path().join(path().dirname(file), `.${path().basename(file)}.${writer()}.${random}.draft`)
}

/**
 * Removes drafts of a file whose writers were killed. With `isLocked` nobody else may be writing, and all of them go; without,
 * those that are old, or of this machine and of a process that is no more. A folder that cannot be read has none.
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
    // What cannot be swept does no harm.
  }
}

/** Whether this is the name of a draft, of whatever file. */
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
  // Of a process before this one with the same number, as in a container.
  return Number(pid) === process.pid ? touched < performance.timeOrigin : !isAlive(Number(pid))
}

/** Whether a process of this machine is there. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** What the system says about a file, without the name of a draft: `ENOSPC: no space left on device`. */
export function fileProblem(cause: unknown): string {
  return (cause instanceof Error ? cause.message : String(cause)).split(", ", 1)[0] as string
}
