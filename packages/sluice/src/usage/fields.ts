// Fields of JSON bodies by which requests are charged, such as `usage.total_tokens`, and their weights.

import type { FieldNode } from "./json-scanner.js"

/** One field, or weights by field: `{ "usage.input_tokens": 1, "usage.output_tokens": 4 }`. */
export type FieldWeights = string | Readonly<Record<string, number>>

/** The values of fields by their paths in lower case. */
export type FieldValues = ReadonlyMap<string, number>

/** The events of a stream wrap the answer: those of OpenAI's Responses API in `response`, the first of Anthropic's in `message`. */
const WRAPPERS = ["response.", "message."]

/** The paths of the fields in lower case, with their weights. */
export function weightsOf(fields: FieldWeights | undefined): ReadonlyMap<string, number> {
  if (fields === undefined) return new Map()
  if (typeof fields === "string") return new Map([[fields.toLowerCase(), 1]])
  return new Map(Object.entries(fields).map(([path, weight]) => [path.toLowerCase(), weight]))
}

/** The tree of some paths, for a scanner. */
export function fieldTree(paths: Iterable<string>): FieldNode {
  const root = newNode()
  for (const path of paths) insert(root, path, path)
  return root
}

/** The tree of some paths in an answer: each is also found in an event that wraps the answer. */
export function answerTree(paths: Iterable<string>): FieldNode {
  const root = newNode()
  for (const path of paths) {
    insert(root, path, path)
    for (const wrapper of WRAPPERS) insert(root, wrapper + path, path)
  }
  return root
}

/** The sum of the values by their weights; undefined if there is none. It may have a fraction. */
export function weightedSum(
  weights: ReadonlyMap<string, number>,
  values: { get(field: string): number | undefined },
): number | undefined {
  let sum: number | undefined
  for (const [path, weight] of weights) {
    const value = values.get(path)
    if (value !== undefined) sum = (sum ?? 0) + value * weight
  }
  return sum
}

function insert(root: FieldNode, path: string, field: string): void {
  let node = root
  for (const name of path.split(".")) {
    let child = node.children.get(name)
    if (child === undefined) {
      child = newNode()
      node.children.set(name, child)
    }
    node = child
  }
  if (!node.fields.includes(field)) node.fields.push(field)
}

function newNode(): FieldNode {
  return { children: new Map(), fields: [] }
}
