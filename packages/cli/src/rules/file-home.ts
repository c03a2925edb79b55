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
import type { Held, RuleHome, Saved } from "./rule-home.js"

/** Rules in a file. Reading leaves nothing behind; a change is kept in the history that the service has too. */
export class FileHome implements RuleHome {
  readonly name: string

  constructor(path: string) {
    this.name = path
  }

  async read(): Promise<Held> {
    const text = await readFile(this.name, "utf8").catch((cause: NodeJS.ErrnoException) => {
      throw new SluiceError("RULES_IO", {
        place: this.name,
        expected: `cannot be read (${cause.code})`,
        cause,
      })
    })
    return { text, document: parseRuleSet(text, { name: this.name }) }
  }

  async replace(held: Held, next: RuleSetDocument, comment: string | undefined): Promise<Saved> {
    return await this.#open(async (rules) => {
      const expected = sameAs(rules, held).revision
      return await rules.save(next, { expected, ...saidBy(comment) })
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
        expected: "must be a revision that is kept; see sluice rules history",
        found: number,
      })
    })
  }

  async rollback(held: Held, to: number, comment: string | undefined): Promise<Saved> {
    return await this.#open(async (rules) => {
      const expected = sameAs(rules, held).revision
      return await rules.rollback(to, { expected, ...saidBy(comment) })
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

/** What is in force, if it is still what was read. */
function sameAs(rules: EditableRuleSource, { document }: Held) {
  const { current } = rules
  if (JSON.stringify(current.document) === JSON.stringify(document)) return current
  throw new SluiceError("RULES_CONFLICT", {
    place: "file",
    expected: "has changed since it was read; run the command again",
  })
}

function saidBy(comment: string | undefined): { by: string; comment?: string } {
  return { by: userName(), ...(comment === undefined ? {} : { comment }) }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // In a container, a user may be a number without a name.
    return `user ${process.getuid?.() ?? ""}`.trimEnd()
  }
}
