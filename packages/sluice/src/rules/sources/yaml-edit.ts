// Edits the text of a rule file: only what differs changes, and comments and order stay.

import {
  type Document,
  isMap,
  isScalar,
  isSeq,
  type Node,
  parseDocument,
  type Scalar,
  stringify,
  type YAMLMap,
} from "yaml"
import type { RuleSetDocument } from "../language/schema.js"
import { canonicalJson } from "./revision.js"

type Fields = Record<string, unknown>

/** Both texts are known to have unique names, and checking them takes quadratic time. */
const PARSE_OPTIONS = { uniqueKeys: false }

/** The text of a rule set with other content, in the same format. Comments and order stay where possible. */
export function editRuleText(text: string, before: RuleSetDocument, after: RuleSetDocument): string {
  return isJson(text) ? editJson(text, before, after) : editYaml(text, before, after)
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function editJson(text: string, before: RuleSetDocument, after: RuleSetDocument): string {
  const indentation = /^\s*\{\s*?\n([ \t]+)/.exec(text)?.[1] ?? (text.includes("\n") ? "  " : "")
  return JSON.stringify(inOrderOf(before, after), undefined, indentation) + (/\s*$/.exec(text)?.[0] ?? "")
}

/** The new value with its fields in the order of the old value. */
function inOrderOf(before: unknown, after: unknown): unknown {
  if (Array.isArray(after)) {
    const old = Array.isArray(before) ? matches(before, after) : []
    return after.map((item, i) => inOrderOf((before as unknown[])?.[old[i] ?? -1], item))
  }
  if (!isFields(after)) return after
  const fields = isFields(before) ? before : {}
  const names = new Set([...Object.keys(fields), ...Object.keys(after)])
  return Object.fromEntries(
    [...names].filter((name) => name in after).map((name) => [name, inOrderOf(fields[name], after[name])]),
  )
}

function editYaml(text: string, before: RuleSetDocument, after: RuleSetDocument): string {
  const document = parseDocument(text, PARSE_OPTIONS)
  const isRight = (edited: string | undefined): edited is string =>
    edited !== undefined &&
    canonicalJson(parseDocument(edited, PARSE_OPTIONS).toJS()) === canonicalJson(after)
  const spliced = splice(text, document, before, after)
  if (isRight(spliced)) return spliced
  if (isMap(document.contents)) editMap(document, document.contents, before, after)
  const edited = document.toString({
    lineWidth: 0,
    indent: indentOf(text),
    indentSeq: !/^(\s*)[\w$-]+:[^\n]*\n(?:\s*#[^\n]*\n)*\1- /m.test(text),
    flowCollectionPadding: !/\{\w/.test(text),
  })
  // A moved comment may leave spaces on an empty line: remove them, unless they are part of a text. If an alias has changed
  // two places where one was meant, no edit is right: then write the rules anew, without comments.
  const candidates = [edited.replace(/^ +$/gm, ""), edited]
  return candidates.find(isRight) ?? stringify(inOrderOf(before, after), { lineWidth: 0 })
}

/** Replaces scalar values in place and nothing else. Undefined if more than scalar values have changed. */
function splice(text: string, document: Document, before: unknown, after: unknown): string | undefined {
  const values: { node: Scalar; value: unknown }[] = []
  if (!collectValues(document.contents, before, after, values)) return undefined
  for (const { node, value } of values.sort((a, b) => startOf(b.node) - startOf(a.node))) {
    const end = node.range?.[1] ?? startOf(node)
    text = text.slice(0, startOf(node)) + valueText(node, value) + text.slice(end)
  }
  return text
}

function collectValues(
  node: unknown,
  before: unknown,
  after: unknown,
  values: { node: Scalar; value: unknown }[],
): boolean {
  if (canonicalJson(before) === canonicalJson(after)) return true
  if (isMap(node) && isFields(before) && isFields(after)) {
    const names = Object.keys(after)
    if (canonicalJson(names.toSorted()) !== canonicalJson(Object.keys(before).sort())) return false
    return names.every((name) => collectValues(node.get(name, true), before[name], after[name], values))
  }
  if (isSeq(node) && Array.isArray(before) && Array.isArray(after)) {
    const isInPlace = before.length === after.length && matches(before, after).every((from, i) => from === i)
    return isInPlace && after.every((value, i) => collectValues(node.items[i], before[i], value, values))
  }
  const isOneLine = isScalar(node) && node.type !== "BLOCK_LITERAL" && node.type !== "BLOCK_FOLDED"
  if (!isOneLine || isObject(after)) return false
  values.push({ node, value: after })
  return true
}

function startOf(node: Scalar): number {
  return node.range?.[0] ?? 0
}

function valueText({ type }: Scalar, value: unknown): string {
  if (typeof value === "string" && type === "QUOTE_DOUBLE") return JSON.stringify(value)
  if (typeof value === "string" && type === "QUOTE_SINGLE") return `'${value.replaceAll("'", "''")}'`
  return stringify(value, { lineWidth: 0 }).trimEnd()
}

/** The indentation of the first nested line. */
function indentOf(text: string): number {
  const spaces = /^[\w$-]+:[^\n]*\n(?:\s*(?:#[^\n]*)?\n)*( +)[^\s#]/m.exec(text)?.[1]?.length ?? 2
  return Math.max(1, spaces)
}

function editMap(document: Document, map: YAMLMap, before: Fields, after: Fields): void {
  for (const name of Object.keys(before)) if (after[name] === undefined) map.delete(name)
  for (const [name, value] of Object.entries(after)) {
    if (value === undefined || canonicalJson(before[name]) === canonicalJson(value)) continue
    const old = map.get(name, true) as Node | undefined
    map.set(name, edited(document, old, before[name], value))
  }
}

/** The node for a new value: the old node, edited, if it is of the same kind. */
function edited(document: Document, node: Node | undefined, before: unknown, after: unknown): Node {
  if (isMap(node) && isFields(before) && isFields(after)) {
    editMap(document, node, before, after)
    return node
  }
  if (isSeq(node) && Array.isArray(before) && Array.isArray(after)) {
    const nodes = node.items as Node[]
    const old = matches(before, after)
    const [first] = nodes
    // The parser gives a comment above the first item to the list. If the item moves, its comment moves with it.
    if (first !== undefined && old.indexOf(0) > 0 && node.commentBefore) {
      first.commentBefore = node.commentBefore
      node.commentBefore = null
    }
    node.items = after.map((value, i) => {
      const from = old[i]
      if (from === undefined) return document.createNode(value)
      const isSame = canonicalJson(before[from]) === canonicalJson(value)
      return isSame ? nodes[from] : edited(document, nodes[from], before[from], value)
    })
    return node
  }
  if (isScalar(node) && !isObject(after)) {
    node.value = after
    return node
  }
  const created = document.createNode(after) as Node
  if (node !== undefined) {
    created.commentBefore = node.commentBefore ?? null
    created.comment = node.comment ?? null
    created.spaceBefore = node.spaceBefore ?? false
  }
  return created
}

/** For each new item the index of the old item it comes from: with the same id, else equal, else at the same index. */
function matches(before: readonly unknown[], after: readonly unknown[]): (number | undefined)[] {
  const places = new Map(before.map((item, i) => [nameOf(item), i]))
  const found = after.map((item) => {
    const place = places.get(nameOf(item))
    places.delete(nameOf(item))
    return place
  })
  const taken = new Set(found)
  return found.map((place, i) => {
    if (place !== undefined || taken.has(i) || idOf(after[i]) !== undefined) return place
    return i < before.length && isFields(before[i]) && isFields(after[i]) ? i : undefined
  })
}

function nameOf(item: unknown): string {
  return idOf(item) ?? canonicalJson(item)
}

function idOf(item: unknown): string | undefined {
  return isFields(item) && typeof item.id === "string" ? `id ${item.id}` : undefined
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null
}

function isFields(value: unknown): value is Fields {
  return isObject(value) && !Array.isArray(value)
}
