import { readdirSync, readFileSync, realpathSync, rmSync, statSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { fileProblem, isDraft, replaceFile, sweepDrafts } from "../../atomic-file.js"
import { SluiceError } from "../../errors.js"
import { isClaim } from "./file-lock.js"

/** A file touched more recently than this may still be in the middle of being written. */
const SETTLED_MS = 50

/** The text of a rule file, as it is on disk. */
export class RuleFile {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** Changes whenever the file does, and costs no reading. Undefined when there is no file. */
  stamp(): string | undefined {
    const stats = statSync(this.path, { bigint: true, throwIfNoEntry: false })
    if (stats === undefined) return undefined
    // File systems count time in steps of some milliseconds: what was touched just now may change again within the step.
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

  /** Waits while somebody writes: the first half of a rule set may well be a valid one. */
  async settled(): Promise<void> {
    for (;;) {
      const touched = statSync(this.path, { throwIfNoEntry: false })?.mtimeMs ?? 0
      const age = Date.now() - touched
      // A time in the future is another machine's, and would be waited for without end.
      if (age < 0 || age >= SETTLED_MS) return
      await pause(SETTLED_MS - age)
    }
  }

  /** Removes what a process left when it was killed. Only under the lock: then nobody is writing a draft. */
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
