import type { SyntaxNode } from "@lezer/common"
import { parser } from "@lezer/yaml"

/** The way to a value inside a document: `["limits", 0, "window"]`. */
export type Path = readonly (string | number)[]

/** Where in a YAML document a cursor is. */
export interface Place {
  /** The map or list that contains the cursor; after `limit:`, the path of that field. */
  readonly path: Path
  /** `entry` where a field name or a list item can start, `value` after the colon of a field. */
  readonly at: "entry" | "value"
  /** The part of the current word before the cursor. */
  readonly typed: string
  /** The offset at which that word starts. */
  readonly start: number
  /** The names of the other fields of the same map. */
  readonly taken: readonly string[]
  /** Whether the cursor is between brackets. */
  readonly inFlow: boolean
  /** The column at which further lines of the same map start. */
  readonly indent: number
}

/** Nodes whose text is not made of field names and values. */
const OPAQUE = /^(?:Comment|BlockLiteral|Anchor|Alias|Tag|Directive)/
const SCALAR = /^(?:Literal|QuotedLiteral)$/
/** What can precede the first field of a line: blanks, and the dashes of lists. */
const LINE_START = /^ *(?:- +)*$/

/**
 * The place of a cursor, or undefined where nothing can be completed, as in a comment.
 *
 * The text around a cursor is usually incomplete. So this parses the text a second time with a placeholder instead of the word
 * that is being typed, which makes most texts valid, and reads the path of the placeholder from the syntax tree.
 */
export function placeOf(text: string, cursor: number): Place | undefined {
  const lineStart = text.lastIndexOf("\n", cursor - 1) + 1
  const lineEnd = text.indexOf("\n", cursor) === -1 ? text.length : text.indexOf("\n", cursor)
  const under = parser.parse(text).resolveInner(cursor, -1)
  if (OPAQUE.test(under.name)) return undefined
  const firstColumn = /^ */.exec(text.slice(lineStart, cursor))?.[0].length ?? 0
  // The parser reports a word that does not fit, such as a field name without a colon, as an error.
  const isTyping = SCALAR.test(under.name) || (under.type.isError && under.to > under.from)
  const start = isTyping ? Math.max(under.from, lineStart + firstColumn) : cursor
  const end = isTyping ? Math.min(under.to, lineEnd) : cursor
  const isLineStart = LINE_START.test(text.slice(lineStart, start))
  // `mode:x` would be a single word.
  const blank = text[start - 1] === ":" ? " " : ""
  const colon = isLineStart && !/^[ \t]*:(?:\s|$)/.test(text.slice(end, lineEnd)) ? ":" : ""
  const patched = `${text.slice(0, start)}${blank}x${colon}${text.slice(end)}`
  const found = parser.parse(patched).resolveInner(start + blank.length + 1, -1)
  if (!SCALAR.test(found.name) || found.from !== start + blank.length) return undefined
  return {
    ...contextOf(found, patched),
    typed: text.slice(start, cursor),
    start,
    indent: start - lineStart,
  }
}

/** Reads path and surroundings of a scalar from the nodes that contain it. */
function contextOf(scalar: SyntaxNode, text: string): Pick<Place, "path" | "at" | "taken" | "inFlow"> {
  const path: (string | number)[] = []
  let inFlow = false
  for (let node = scalar; node.parent !== null; node = node.parent) {
    const { parent } = node
    if (parent.name.startsWith("Flow")) inFlow = true
    if (parent.name === "Item") path.unshift(indexOf(parent))
    // A bracket that is not closed yet makes its content the key of a pair.
    if (parent.name === "Pair" && node.name !== "Key") path.unshift(nameOf(parent, text))
  }
  const isValue = scalar.parent?.name === "Pair"
  const pair = scalar.parent?.name === "Key" ? scalar.parent.parent : null
  const others = pair?.parent?.getChildren("Pair").filter(({ from }) => from !== pair.from) ?? []
  return { path, at: isValue ? "value" : "entry", taken: others.map((other) => nameOf(other, text)), inFlow }
}

function indexOf(item: SyntaxNode): number {
  return item.parent?.getChildren("Item").findIndex(({ from }) => from === item.from) ?? 0
}

function nameOf(pair: SyntaxNode, text: string): string {
  const key = pair.getChild("Key")
  const name = text.slice(key?.from, key?.to)
  return /^["']/.test(name) ? name.slice(1, -1) : name
}
