import { readFile } from "node:fs/promises"
import { userInfo } from "node:os"
import { SluiceError } from "sluice"
import {
  type EditableRuleSource,
  fileRules,
  parseRuleSet,
  type RevisionInfo,
  type RuleSetDocument,
} from "sluice/rules"
import type { RulesLocation, RulesSnapshot, SavedRules } from "./rules-location.js"

/** Rules in a file. Reading creates no files. A change is added to the history, in the same format as the service's. */
export class FileRules implements RulesLocation {
  readonly name: string

  constructor(path: string) {
    this.name = path
  }

  async read(): Promise<RulesSnapshot> {
    const text = await readFile(this.name, "utf8").catch((cause: NodeJS.ErrnoException) => {
      throw new SluiceError("RULES_IO", {
        place: this.name,
        expected: `cannot be read (${cause.code})`,
        cause,
      })
    })
    return { text, document: parseRuleSet(text, { name: this.name }) }
  }

  async replace(
    base: RulesSnapshot,
    next: RuleSetDocument,
    comment: string | undefined,
  ): Promise<SavedRules> {
    return await this.#open(async (rules) => {
      const expected = unchanged(rules, base).revision
      return await rules.save(next, { expected, ...authorOf(comment) })
    })
  }

  async history(): Promise<readonly RevisionInfo[]> {
    return await this.#open((rules) => rules.revisions())
  }

  async revision(number: number): Promise<RuleSetDocument> {
    return await this.#open(async (rules) => {
      const found = await rules.revision(number)
      if (found !== undefined) return found.document
      throw new SluiceError("RULES_REVISION_UNKNOWN", {
        place: "revision",
        expected: "must be a revision in the history; see sluice rules history",
        found: number,
      })
    })
  }

  async rollback(base: RulesSnapshot, to: number, comment: string | undefined): Promise<SavedRules> {
    return await this.#open(async (rules) => {
      const expected = unchanged(rules, base).revision
      return await rules.rollback(to, { expected, ...authorOf(comment) })
    })
  }

  async #open<T>(use: (rules: EditableRuleSource) => Promise<T>): Promise<T> {
    const rules = await fileRules(this.name, { onEvent: () => {} })
    try {
      return await use(rules)
    } finally {
      await rules.close()
    }
  }
}

/** The current rules, if they are still those that were read. */
function unchanged(rules: EditableRuleSource, { document }: RulesSnapshot) {
  const { current } = rules
  if (JSON.stringify(current.document) === JSON.stringify(document)) return current
  throw new SluiceError("RULES_CONFLICT", {
    place: "file",
    expected: "has changed since it was read; run the command again",
  })
}

function authorOf(comment: string | undefined): { by: string; comment?: string } {
  return { by: userName(), ...(comment === undefined ? {} : { comment }) }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // In a container, a user may have an id and no name.
    return `user ${process.getuid?.() ?? ""}`.trimEnd()
  }
}
