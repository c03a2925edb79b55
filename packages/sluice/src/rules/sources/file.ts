import { basename, dirname, join, resolve } from "node:path"
import { replaceFile } from "../../atomic-file.js"
import type { Duration } from "../../duration.js"
import { parseDuration } from "../../duration.js"
import { SluiceError } from "../../errors.js"
import { checkType, isFilledText } from "../../options.js"
import { parseRuleSet } from "../language/parse.js"
import { RuleSetError } from "../language/rule-set-error.js"
import type { RuleSetDocument } from "../language/schema.js"
import { CurrentRevision } from "./current-revision.js"
import { checkExpected, checkSourceOptions, EditableSource, type SourceOptions } from "./editable-source.js"
import { withLock } from "./file-lock.js"
import { Journal } from "./journal.js"
import { etagOf, makeRevision } from "./revision.js"
import { ioError, RuleFile, watchFile } from "./rule-file.js"
import { SerialQueue } from "./serial-queue.js"
import type { EditableRuleSource, RuleSetRevision, RuleSourceWork, SaveOptions } from "./source.js"
import { editRuleText } from "./yaml-edit.js"

export interface FileRulesOptions extends SourceOptions {
  /**
   * The file that keeps the revisions. A second one, with `.1` behind the name, keeps the older ones. Default:
   * `.rules.yaml.revisions.jsonl` beside `rules.yaml`.
   */
  historyFile?: string
  /** How often to look at the file, in case the system does not report changes. Default: `"1s"`. */
  poll?: Duration
  /** Reads and edits the text of large files elsewhere. Default: in this thread. The first read is always in this thread. */
  work?: RuleSourceWork
}

/**
 * Rules in a YAML or JSON file. The source follows edits by hand at once, and refuses an invalid one with every problem in it.
 * `save` changes only what differs, so that comments stay. If the folder cannot be written, revisions are kept in memory.
 */
export async function fileRules(path: string, options: FileRulesOptions = {}): Promise<EditableRuleSource> {
  checkType(path ?? null, "fileRules", "the path of a file", isFilledText)
  checkSourceOptions(options, ["historyFile", "poll", "work"], "fileRules")
  checkType(options.historyFile, "fileRules.historyFile", "the path of a file", isFilledText)
  const pollMs = parseDuration(options.poll ?? "1s", "fileRules.poll")
  const rules = new FileRules(resolve(path), options)
  await rules.open(pollMs)
  return rules
}

/** The content of a file. */
interface ReadRules {
  readonly document: RuleSetDocument
  readonly etag: string
}

class FileRules extends EditableSource {
  /** Set once the file has been read for the first time. */
  protected inForce!: CurrentRevision
  readonly #file: RuleFile
  readonly #lockFile: string
  readonly #journal: Journal
  readonly #options: FileRulesOptions
  readonly #queue = new SerialQueue()
  /** The last valid text of the file. */
  #good = ""
  /** The text that was last seen, valid or not; undefined if there was no file. */
  #seen: string | undefined
  #stamp: string | undefined
  /** A text that was parsed elsewhere, and the result. */
  #prepared: { readonly text: string; readonly result: () => ReadRules } | undefined
  /** A look at the file is already in the queue. */
  #looking = false
  #stop = () => {}

  constructor(path: string, options: FileRulesOptions) {
    super(options)
    this.#file = new RuleFile(path)
    const beside = (name: string) => join(dirname(path), `.${basename(path)}.${name}`)
    this.#lockFile = beside("lock")
    const historyFile = options.historyFile ?? beside("revisions.jsonl")
    this.#journal = new Journal(historyFile, this.maxRevisions)
    this.#options = options
  }

  async open(pollMs: number): Promise<void> {
    await this.#file.settled()
    this.inForce = new CurrentRevision(await this.#follow(), this.#options)
    // A folder that cannot be written has nothing to remove.
    await withLock(this.#lockFile, () => this.#file.sweep()).catch(() => {})
    this.#stop = watchFile(this.#file.path, Math.max(1, pollMs), () => {
      if (this.#looking) return
      this.#looking = true
      void this.#queue.run(async () => {
        this.#looking = false
        await this.#look()
      })
    })
  }

  async reload(): Promise<void> {
    await this.#queue.run(async () => {
      this.#stamp = undefined
      await this.#look()
    })
  }

  async close(): Promise<void> {
    this.#stop()
    await this.#queue.idle()
  }

  protected history(): Promise<readonly RuleSetRevision[]> {
    return this.#queue.run(async () => this.#journal.revisions)
  }

  protected async put(
    document: RuleSetDocument,
    options: SaveOptions,
    place: string,
  ): Promise<RuleSetRevision> {
    const etag = options.etag ?? etagOf(document)
    return await this.#queue.run(async () => {
      for (;;) {
        // An edit by hand that has not been noticed yet comes first.
        await this.#look()
        checkExpected(this.current, options, place)
        if (etag === this.current.etag && !this.stale) return this.current
        const saved = await this.#write(document, { ...options, etag })
        if (saved !== undefined) return saved
      }
    })
  }

  /** Undefined if the file has changed since the last look. */
  async #write(document: RuleSetDocument, options: SaveOptions): Promise<RuleSetRevision | undefined> {
    try {
      const text = await this.#edited(document)
      const saved = await withLock(this.#lockFile, () => {
        if (this.#file.readIfThere() !== this.#seen) return undefined
        this.#journal.refresh()
        this.#journal.resolvePending(this.current.etag)
        const next = makeRevision(this.#nextNumber(), document, options, this.clock.now())
        // The file holds an invalid edit by hand: keep a copy of it.
        if (this.#seen !== undefined && this.#seen !== this.#good)
          replaceFile(`${this.#file.path}.refused`, this.#seen)
        this.#journal.addWith(next, () => this.#file.write(text))
        this.#good = text
        this.#seen = text
        return next
      })
      if (saved === undefined) return undefined
      this.inForce.recovered()
      this.inForce.accept(saved)
      return saved
    } catch (cause) {
      throw ioError(this.#file.path, "written", cause)
    }
  }

  /** The text of the file with other rules. Computed before the lock is taken, because others wait for the lock. */
  async #edited(document: RuleSetDocument): Promise<string> {
    const { work } = this.#options
    return work === undefined
      ? editRuleText(this.#good, this.current.document, document)
      : await work.editText(this.#good, this.current.document, document)
  }

  /** Follows the file. Never rejects: problems with the file are reported as events. */
  async #look(): Promise<void> {
    try {
      const stamp = this.#file.stamp()
      if (stamp !== undefined && stamp === this.#stamp) return
      if (this.#file.readIfThere() !== this.#seen) {
        await this.#file.settled()
        await this.#prepare()
        const next = await this.#follow()
        this.inForce.recovered()
        if (next.revision > this.current.revision) this.inForce.accept(next)
      }
      this.#stamp = stamp
    } catch (error) {
      this.#refuse(error as SluiceError)
    }
  }

  #refuse(error: SluiceError): void {
    const kind = error.code === "RULES_IO" ? "unavailable" : "refused"
    this.inForce.trouble({ kind, error })
  }

  /** The revision of what the file now contains. */
  async #follow(): Promise<RuleSetRevision> {
    try {
      return await withLock(this.#lockFile, () => {
        const read = this.#read()
        this.#journal.refresh()
        this.#journal.resolvePending(read.etag)
        return this.#numbered(read, (next) => this.#journal.add(next))
      })
    } catch (error) {
      if (error instanceof SluiceError) throw error
      // The folder is read-only, as in a container, or the disk is full: follow the file without a history on disk.
      return this.#numbered(this.#read(), (next) => this.#journal.keep(next))
    }
  }

  /** Parses the text of the file elsewhere, so that `#read` need not do it unless the text changes again. */
  async #prepare(): Promise<void> {
    const { work } = this.#options
    const text = this.#file.readIfThere()
    // `work` does not know the guard rails.
    if (work === undefined || this.guardRails !== undefined || text === undefined) return
    this.#prepared = await work.readText(text, this.#file.path).then(
      (read) => ({ text, result: () => read }),
      (error: unknown) => {
        if (!(error instanceof RuleSetError)) return undefined
        const result = () => {
          throw error
        }
        return { text, result }
      },
    )
  }

  #read(): ReadRules {
    const prepared = this.#prepared
    this.#prepared = undefined
    this.#seen = undefined
    this.#seen = this.#file.read()
    const read = prepared?.text === this.#seen ? prepared.result() : this.#parse(this.#seen)
    this.#good = this.#seen
    return read
  }

  #parse(text: string): ReadRules {
    const document = parseRuleSet(text, { guardRails: this.guardRails, name: this.#file.path })
    return { document, etag: etagOf(document) }
  }

  /** The newest revision if it has this content, else a new one. */
  #numbered({ document, etag }: ReadRules, add: (next: RuleSetRevision) => void): RuleSetRevision {
    const known = [this.#journal.newest, this.inForce?.current]
    const same = known.find((revision) => revision?.etag === etag)
    if (same !== undefined) return same
    const next = makeRevision(this.#nextNumber(), document, { by: "file", etag }, this.clock.now())
    add(next)
    return next
  }

  #nextNumber(): number {
    const newest = this.#journal.newest?.revision ?? 0
    return Math.max(newest, this.inForce?.current.revision ?? 0) + 1
  }
}
