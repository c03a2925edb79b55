// Text that is YAML or JSON, read into plain values without harm, and where each of them is in it.

import {
  type Document,
  isAlias,
  isMap,
  isNode,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  parseDocument,
  stringify,
  visit,
} from "yaml"
import { type RuleProblem, RuleSetError } from "./rule-set-error.js"
import type { RuleSetDocument } from "./schema.js"

/** Aliases that a file may use. A few are handy; millions of them are an attack. */
const MOST_ALIASES = 100
/** No rule set needs more than about 8. */
export const DEEPEST = 32
/** Columns that a line may be indented by. */
const WIDEST = 256

/** Text without quotes, as it is written: what `00501`, `1.10` or `yes` stand for is for the reader to say. */
export class Plain {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export interface ReadOptions {
  /** What the text is called in errors: the name of its file. */
  readonly name: string
  readonly maxBytes: number
  /** As programs written in Go read it: `<<` merges maps, and text without quotes is left as a `Plain`. */
  readonly asGo?: boolean
  /** How often aliases may stand in for other parts of the text. Default: 100. */
  readonly maxAliases?: number
  /** Syntax errors listed. Default: all. */
  readonly maxProblems?: number
}

export interface YamlText {
  readonly value: unknown
  /** Where a value is, or what lacks it; with `isName`, where the name of the field is. Counted from 1. */
  positionOf(
    at: readonly PropertyKey[],
    isName?: boolean,
  ): { readonly line: number; readonly column: number } | undefined
}

/** A rule set as YAML. */
export function formatRuleSet(document: RuleSetDocument): string {
  return stringify(document, { lineWidth: 0 })
}

/** Reads one document. Text that cannot be read is a RuleSetError with the code RULES_SYNTAX. */
export function readYaml(text: string, options: ReadOptions): YamlText {
  const { name, maxBytes, asGo = false, maxAliases = MOST_ALIASES, maxProblems } = options
  const syntax = (message: string) =>
    new RuleSetError(name, [{ code: "RULES_SYNTAX", path: "", message, line: undefined, column: undefined }])
  if (Buffer.byteLength(text) > maxBytes) throw syntax(`must be at most ${maxBytes} bytes (maxBytes)`)
  if (isTooDeep(text)) throw syntax(`must not be nested deeper than ${DEEPEST}`)
  const lines = new LineCounter()
  // The parser compares each key with all keys before it: 10,000 keys in one map took it a second.
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    merge: asGo,
    uniqueKeys: false,
  })
  const mistakes = [
    ...document.errors.map(({ code, message, pos }) => ({
      offset: pos[0],
      message: code === "MULTIPLE_DOCS" ? "must be one document" : message,
    })),
    ...mistakesIn(document, maxAliases === 0),
  ]
  if (mistakes.length > 0) {
    throw new RuleSetError(
      name,
      mistakes.slice(0, maxProblems).map(({ offset, message }): RuleProblem => {
        const { line, col } = lines.linePos(offset)
        return { code: "RULES_SYNTAX", path: "", message, line, column: col }
      }),
    )
  }
  if (asGo) keepPlain(document)
  let value: unknown
  try {
    value = document.toJS({ maxAliasCount: maxAliases })
  } catch (error) {
    throw syntax(`cannot be read: ${(error as Error).message}`)
  }
  if (isCircular(value)) throw syntax("must not have an alias inside of what it stands for")
  return {
    value,
    positionOf(at, isName = false) {
      const offset = offsetOf(document, at, isName)
      if (offset === undefined) return undefined
      const { line, col } = lines.linePos(offset)
      return { line, column: col }
    },
  }
}

interface Mistake {
  readonly offset: number
  readonly message: string
}

/** Names that a map has twice, and aliases where there may be none. Each key is looked up once. */
function mistakesIn(document: Document.Parsed, refusesAliases: boolean): Mistake[] {
  const mistakes: Mistake[] = []
  const add = (node: unknown, message: string) =>
    mistakes.push({ offset: (isNode(node) ? node.range?.[0] : undefined) ?? 0, message })
  visit(document, {
    Map(_key, { items }) {
      const names = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key)) add(key, "must be a text: nothing here is named by a list or a map")
        else if (names.has(key.value)) add(key, "Map keys must be unique")
        else names.add(key.value)
      }
    },
    Alias(_key, alias) {
      if (refusesAliases) add(alias, "must not use an alias; write out what it stands for")
    },
  })
  return mistakes
}

function keepPlain(document: Document.Parsed): void {
  visit(document, {
    Scalar(role, node) {
      if (role === "key" || node.type !== "PLAIN" || node.value === null) return
      node.value = new Plain(node.source ?? String(node.value))
    },
  })
}

/** At the name of a field that should not be there, else at the value, or what lacks it. */
function offsetOf(
  document: Document.Parsed,
  at: readonly PropertyKey[],
  isName: boolean,
): number | undefined {
  let node: unknown = document.contents
  let offset = isNode(node) ? node.range?.[0] : undefined
  for (let i = 0; i < at.length; i++) {
    const part = at[i]
    if (isAlias(node)) node = node.resolve(document)
    if (isMap(node)) {
      const pair = node.items.find(
        (item) => isPair(item) && isScalar(item.key) && String(item.key.value) === String(part),
      )
      if (pair === undefined) return offset
      const key = pair.key as Node
      node = pair.value
      offset =
        isName && i === at.length - 1 ? key.range?.[0] : ((node as Node | null)?.range?.[0] ?? key.range?.[0])
    } else if (typeof part === "number" && typeof node === "object" && node !== null && "items" in node) {
      node = (node as { items: unknown[] }).items[part]
      offset = (node as Node | undefined)?.range?.[0] ?? offset
    } else return offset
  }
  return offset
}

/**
 * Whether text is nested so deeply that reading it would take the process down: brackets in brackets, dashes behind dashes
 * (`- - - -` of 400 KB ends Node 20 inside a regular expression), or lines indented without end. Looked at before it is
 * read, roughly: brackets in texts count too, and nobody writes that many.
 */
function isTooDeep(text: string): boolean {
  let brackets = 0
  let dashes = 0
  let indent = 0
  let atStart = true
  for (let i = 0; i < text.length; i++) {
    const char = text[i]
    if (char === "\n" || char === "\r") {
      dashes = 0
      indent = 0
      atStart = true
    } else if (char === " " || char === "\t") {
      if (atStart) indent++
    } else if (atStart && (char === "-" || char === "?")) dashes++
    else {
      atStart = false
      if (char === "[" || char === "{") brackets++
      else if (char === "]" || char === "}") brackets = Math.max(0, brackets - 1)
    }
    if (brackets > DEEPEST || dashes > DEEPEST || indent > WIDEST) return true
  }
  return false
}

/** Whether a value holds itself, as `&a [*a]` does: whoever walks through it never comes to an end. */
function isCircular(value: unknown, around = new Set<unknown>(), done = new Set<unknown>()): boolean {
  if (typeof value !== "object" || value === null || done.has(value)) return false
  if (around.has(value)) return true
  around.add(value)
  const found = Object.values(value).some((inner) => isCircular(inner, around, done))
  around.delete(value)
  done.add(value)
  return found
}
