import { type FSWatcher, readdirSync, readFileSync, realpathSync, rmSync, statSync, watch } from "node:fs"
import { basename, dirname, join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { fileProblem, isDraft, replaceFile, sweepDrafts } from "../../atomic-file.js"
import { MAX_TIMEOUT_MS } from "../../clock.js"
import { SluiceError } from "../../errors.js"
import { isClaim } from "./file-lock.js"

/** A file that was modified more recently than this may not be completely written. */
const SETTLED_MS = 50

/** The text of a rule file, as it is on disk. */
export class RuleFile {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** A text that changes whenever the file does, without reading the file. Undefined when there is no file. */
  stamp(): string | undefined {
    const stats = statSync(this.path, { bigint: true, throwIfNoEntry: false })
    if (stats === undefined) return undefined
    // File systems count time in steps of some milliseconds: a file may change twice within a step.
    const isFresh = Date.now() - Number(stats.mtimeMs) < SETTLED_MS
    const times = isFresh ? [performance.now()] : [stats.mtimeNs, stats.ctimeNs]
    return [stats.dev, stats.ino, stats.size, ...times].join(" ")
  }

  read(): string {
    try {
      return readFileSync(this.path, "utf8")
    } catch (cause) {
      throw ioError(this.path, "read", cause)
    }
  }

  readIfThere(): string | undefined {
    return this.stamp() === undefined ? undefined : this.read()
  }

  /** Waits until nobody writes the file: the first half of a rule set may be a valid set. */
  async settled(): Promise<void> {
    for (;;) {
      const touched = statSync(this.path, { throwIfNoEntry: false })?.mtimeMs ?? 0
      const age = Date.now() - touched
      // A modification time far in the future comes from another machine's clock. One that is a moment ahead is of this very
      // millisecond: the file system counts finer than `Date.now`.
      if (age < -SETTLED_MS || age >= SETTLED_MS) return
      await pause(SETTLED_MS - age)
    }
  }

  /** Removes the drafts and claims of processes that were killed. Only under the lock, when no other process writes a draft. */
  sweep(): void {
    const folder = dirname(this.path)
    const ours = `.${basename(this.path)}.`
    for (const name of readdirSync(folder)) {
      const isOurs = name.startsWith(ours) || name.startsWith(`.${ours}`)
      if (isOurs && (isDraft(name) || isClaim(name))) rmSync(join(folder, name), { force: true })
    }
    // The file may be a link to one in another folder.
    sweepDrafts(realpathSync(this.path), { isLocked: true })
  }

  /** Replaces the text as a whole. A link stays a link, and the file keeps its permissions. */
  write(text: string): void {
    const stats = statSync(this.path, { throwIfNoEntry: false })
    if (stats === undefined) replaceFile(this.path, text, 0o644)
    else replaceFile(realpathSync(this.path), text, stats.mode & 0o777)
  }
}

export function ioError(place: string, what: "read" | "written", cause: unknown): SluiceError {
  if (cause instanceof SluiceError) return cause
  const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT" && what === "read"
  const expected = isMissing ? "does not exist" : `could not be ${what}: ${fileProblem(cause)}`
  return new SluiceError("RULES_IO", { place, expected, cause })
}

/** An editor causes several events within a few milliseconds: they are one change. */
const DEBOUNCE_MS = 10

/**
 * Calls `onChange` when a file may have changed. It watches the folder, not the file: editors replace a file by another, and
 * Kubernetes swaps a link beside it. Some systems report no changes (network drives, all watches used), so it also calls
 * every `pollMs`. Returns a function that ends it.
 */
export function watchFile(path: string, pollMs: number, onChange: () => void): () => void {
  let pending: NodeJS.Timeout | undefined
  const poll = setInterval(onChange, Math.min(pollMs, MAX_TIMEOUT_MS)).unref()
  const watcher = tryWatch(dirname(path), () => {
    clearTimeout(pending)
    pending = setTimeout(onChange, DEBOUNCE_MS).unref()
  })
  return () => {
    clearInterval(poll)
    clearTimeout(pending)
    watcher?.close()
  }
}

function tryWatch(folder: string, changed: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, changed)
    watcher.on("error", () => watcher.close())
    return watcher
  } catch {
    return undefined
  }
}
