import { readFileSync, statSync } from "node:fs"
import { replaceFile, sweepDrafts } from "../../atomic-file.js"
import type { ParseOptions } from "../language/parse.js"
import { readRevision } from "./revision.js"
import { ioError } from "./rule-file.js"
import type { RuleSetRevision } from "./source.js"

/** A copy of the last accepted set on disk, to start from when Redis does not answer. */
export class LastGood {
  readonly #path: string | undefined

  /** Without a path there is no copy. */
  constructor(path: string | undefined) {
    this.#path = path
    if (path !== undefined) sweepDrafts(path)
  }

  /** Undefined if there is no copy yet. */
  read(options: ParseOptions): RuleSetRevision | undefined {
    if (this.#path === undefined) return undefined
    let text: string
    try {
      if (statSync(this.#path, { throwIfNoEntry: false }) === undefined) return undefined
      text = readFileSync(this.#path, "utf8")
    } catch (cause) {
      throw ioError(this.#path, "read", cause)
    }
    return readRevision(text, this.#path, options)
  }

  write(revision: RuleSetRevision): void {
    if (this.#path === undefined) return
    try {
      replaceFile(this.#path, `${JSON.stringify(revision)}\n`)
    } catch (cause) {
      throw ioError(this.#path, "written", cause)
    }
  }
}
