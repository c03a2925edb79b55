// Reads YAML or JSON into plain values, safely, and knows the line and column of each value.

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

/** Aliases that a text may use: a few are useful, millions of them are an attack. */
const MAX_ALIASES = 100
/** A rule set needs about 8. */
export const MAX_DEPTH = 32
/** The columns that a line may be indented by. */
const MAX_INDENT = 256

/** A scalar without quotes, as it is written. YAML versions disagree about values such as `00501`, `1.10` or `yes`. */
export class Plain {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

interface ReadOptions {
  /** The name of the text in errors, such as the name of its file. */
  readonly name: string
  readonly maxBytes: number
  /** Reads as programs in Go do: `<<` merges maps, and a scalar without quotes becomes a `Plain`. */
  readonly asGo?: boolean
  /** How many aliases the text may use. Default: 100. */
  readonly maxAliases?: number | undefined
  /** How many syntax errors to report. Default: all. */
  readonly maxProblems?: number
}

export interface YamlText {
  readonly value: unknown
  /** The position of a value, or of the map that lacks it; with `isName`, of the field's name. Counted from 1. */
  positionOf(
    at: readonly PropertyKey[],
    isName?: boolean,
  ): { readonly line: number; readonly column: number } | undefined
}

/** A rule set as YAML. */
export function formatRuleSet(document: RuleSetDocument): string {
  return stringify(document, { lineWidth: 0 })
}

/** Reads one document. Throws a RuleSetError with the code RULES_SYNTAX for text that is not valid. */
export function readYaml(text: string, options: ReadOptions): YamlText {
  const { name, maxBytes, asGo = false, maxAliases = MAX_ALIASES, maxProblems } = options
  const syntax = (message: string) =>
    new RuleSetError(name, [{ code: "RULES_SYNTAX", path: "", message, line: undefined, column: undefined }])
  if (Buffer.byteLength(text) > maxBytes) throw syntax(`must be at most ${maxBytes} bytes (maxBytes)`)
  if (isTooDeep(text)) throw syntax(`must not be nested deeper than ${MAX_DEPTH}`)
  const lines = new LineCounter()
  // With `uniqueKeys` the parser compares each key with all keys before it: 10,000 keys in one map take a second.
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

/** Finds duplicate names in maps, and aliases where they are not allowed. */
function mistakesIn(document: Document.Parsed, refusesAliases: boolean): Mistake[] {
  const mistakes: Mistake[] = []
  const add = (node: unknown, message: string) =>
    mistakes.push({ offset: (isNode(node) ? node.range?.[0] : undefined) ?? 0, message })
  visit(document, {
    Map(_key, { items }) {
      const names = new Set<unknown>()
      for (const { key } of items) {
        if (!isScalar(key)) add(key, "must be a string: a list or a map cannot be the name of a field")
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

/** The offset of a field's name (with `isName`), of a value, or of the innermost node that exists on the path to it. */
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
 * Whether text is nested so deeply that parsing it could crash the process: nested brackets, repeated dashes (400 KB of
 * `- - - -` crash Node 20 in a regular expression), or very long indentation. A rough test before parsing: it also counts
 * brackets in texts.
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
    if (brackets > MAX_DEPTH || dashes > MAX_DEPTH || indent > MAX_INDENT) return true
  }
  return false
}

/** Whether a value contains itself, as `&a [*a]` does: walking through it would never end. */
function isCircular(value: unknown, around = new Set<unknown>(), done = new Set<unknown>()): boolean {
  if (typeof value !== "object" || value === null || done.has(value)) return false
  if (around.has(value)) return true
  around.add(value)
  const found = Object.values(value).some((inner) => isCircular(inner, around, done))
  around.delete(value)
  done.add(value)
  return found
}
