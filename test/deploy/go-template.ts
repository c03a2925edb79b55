// The part of Go's templates, and of what Helm adds to them, that the chart uses: enough to see what it renders where there
// is no Helm. Stricter than Helm in two ways: a name that does not exist is an error, and so is a function not listed here.

import { createHash } from "node:crypto"
import { parse, stringify } from "yaml"

type Piece = { readonly text: string } | { readonly action: string }
type Node =
  | { readonly text: string }
  | { readonly pipeline: string }
  | { readonly set: string; readonly pipeline: string }
  | { readonly block: Block; readonly pipeline: string; readonly body: Node[]; readonly otherwise: Node[] }
type Block = "if" | "with" | "range"
type Scope = { readonly dot: unknown; readonly variables: ReadonlyMap<string, unknown> }
type Call = (args: readonly unknown[], scope: Scope) => unknown

export class Templates {
  readonly #defined = new Map<string, Node[]>()

  /** Takes what a file defines, and returns the rest of it to be rendered. */
  add(source: string): Node[] {
    return new Reader(piecesOf(source), this.#defined).all()
  }

  render(nodes: readonly Node[], root: unknown): string {
    return this.#run(nodes, { dot: root, variables: new Map([["$", root]]) })
  }

  #run(nodes: readonly Node[], scope: Scope): string {
    const variables = new Map(scope.variables)
    const inner = { dot: scope.dot, variables }
    let text = ""
    for (const node of nodes) {
      if ("text" in node) text += node.text
      else if ("set" in node) variables.set(node.set, this.#evaluate(node.pipeline, inner))
      else if ("block" in node) text += this.#runBlock(node, inner)
      else text += shown(this.#evaluate(node.pipeline, inner))
    }
    return text
  }

  #runBlock(node: Extract<Node, { block: Block }>, scope: Scope): string {
    const [, names = "", pipeline = ""] = /^(?:(.*?):=)?(.*)$/s.exec(node.pipeline) ?? []
    const value = this.#evaluate(pipeline, scope)
    if (!isTrue(value)) return this.#run(node.otherwise, scope)
    if (node.block === "if") return this.#run(node.body, scope)
    if (node.block === "with") return this.#run(node.body, { ...scope, dot: value })
    const [key, item] = names.split(",").map((name) => name.trim()) as [string, string?]
    return Object.entries(value as object)
      .sort(([a], [b]) => (Array.isArray(value) ? 0 : a < b ? -1 : 1))
      .map(([name, dot]) => {
        const variables = new Map(scope.variables)
        if (item !== undefined) variables.set(key, name).set(item, dot)
        return this.#run(node.body, { dot, variables })
      })
      .join("")
  }

  #evaluate(pipeline: string, scope: Scope): unknown {
    const tokens = tokensOf(pipeline)
    const value = this.#pipeline(tokens, scope)
    if (tokens.length > 0) throw new Error(`cannot read {{ ${pipeline} }}: "${tokens[0]}" is not expected`)
    return value
  }

  #pipeline(tokens: string[], scope: Scope): unknown {
    let value = this.#command(tokens, scope, [])
    while (tokens[0] === "|") {
      tokens.shift()
      value = this.#command(tokens, scope, [value])
    }
    return value
  }

  #command(tokens: string[], scope: Scope, piped: readonly unknown[]): unknown {
    const first = tokens[0] ?? ""
    if (!/^[a-z]/i.test(first)) return this.#operand(tokens, scope)
    tokens.shift()
    const args: unknown[] = []
    while (tokens.length > 0 && tokens[0] !== "|" && tokens[0] !== ")")
      args.push(this.#operand(tokens, scope))
    const call = first === "include" ? this.#include : FUNCTIONS[first]
    if (call === undefined)
      throw new Error(`the chart calls ${first}, which is not among the known functions`)
    return call([...args, ...piped], scope)
  }

  readonly #include: Call = ([name, dot]) => {
    const nodes = this.#defined.get(name as string)
    if (nodes === undefined) throw new Error(`no template is called ${name}`)
    return this.render(nodes, dot)
  }

  #operand(tokens: string[], scope: Scope): unknown {
    const token = tokens.shift() ?? ""
    if (token === "(") {
      const value = this.#pipeline(tokens, scope)
      if (tokens.shift() !== ")") throw new Error("a parenthesis is not closed")
      return value
    }
    if (token.startsWith('"')) return JSON.parse(token)
    if (/^\d/.test(token)) return Number(token)
    const [, start, path] = /^(\$\w*)?(.*)$/.exec(token) as unknown as [string, string | undefined, string]
    let value = start === undefined ? scope.dot : scope.variables.get(start)
    if (start !== undefined && !scope.variables.has(start)) throw new Error(`${start} is not set`)
    for (const name of path.split(".").filter((part) => part !== "")) {
      const holder = value as Record<string, unknown>
      if (!Object.hasOwn(holder ?? {}, name)) throw new Error(`${token}: there is no ${name}`)
      value = holder[name]
    }
    return value
  }
}

const FUNCTIONS: Readonly<Record<string, Call>> = {
  and: (args) => args.find((arg) => !isTrue(arg)) ?? args.at(-1),
  or: (args) => args.find(isTrue) ?? args.at(-1),
  not: ([value]) => !isTrue(value),
  eq: ([a, b]) => a === b,
  gt: ([a, b]) => (a as number) > (b as number),
  int: ([value]) => Math.trunc(Number(value)),
  index: ([map, name]) => (map as Record<string, unknown>)[name as string],
  dig(args) {
    const [byDefault, map] = args.slice(-2)
    const names = args.slice(0, -2) as string[]
    return (
      names.reduce<unknown>((at, name) => (at as Record<string, unknown> | undefined)?.[name], map) ??
      byDefault
    )
  },
  default: ([byDefault, value]) => (isTrue(value) ? value : byDefault),
  contains: ([part, text]) => (text as string).includes(part as string),
  trunc: ([length, text]) => (text as string).slice(0, length as number),
  trimSuffix([end, text]) {
    const [suffix, whole] = [end as string, text as string]
    return whole.endsWith(suffix) ? whole.slice(0, whole.length - suffix.length) : whole
  },
  printf: ([form, ...values]) => (form as string).replaceAll("%s", () => shown(values.shift())),
  quote: ([value]) => JSON.stringify(shown(value)),
  nindent: ([width, text]) => `\n${(text as string).replaceAll(/^(?=.)/gm, " ".repeat(width as number))}`,
  toYaml: ([value]) => stringify(value, { lineWidth: 0 }).trimEnd(),
  fromYaml: ([text]) => parse(text as string),
  sha256sum: ([text]) =>
    createHash("sha256")
      .update(text as string)
      .digest("hex"),
  fail([message]) {
    throw new Error(message as string)
  },
}

/** Blocks within blocks, from the flat pieces of a file. */
class Reader {
  readonly #pieces: Piece[]
  readonly #defined: Map<string, Node[]>

  constructor(pieces: Piece[], defined: Map<string, Node[]>) {
    this.#pieces = pieces
    this.#defined = defined
  }

  all(): Node[] {
    const { nodes, end } = this.#until()
    if (end !== undefined) throw new Error(`{{ ${end} }} ends nothing`)
    return nodes
  }

  #until(): { nodes: Node[]; end?: string } {
    const nodes: Node[] = []
    for (let piece = this.#pieces.shift(); piece !== undefined; piece = this.#pieces.shift()) {
      if ("text" in piece) {
        nodes.push(piece)
        continue
      }
      const { action } = piece
      const [word = "", ...rest] = action.split(/\s+/)
      const pipeline = action.slice(word.length).trim()
      if (action === "end" || action === "else") return { nodes, end: action }
      if (action.startsWith("/*")) continue
      if (word === "define") this.#defined.set(JSON.parse(pipeline), this.#body(action).body)
      else if (word === "if" || word === "with" || word === "range")
        nodes.push({ block: word, pipeline, ...this.#body(action) })
      else if (rest[0] === ":=") nodes.push({ set: word, pipeline: rest.slice(1).join(" ") })
      else nodes.push({ pipeline: action })
    }
    return { nodes }
  }

  #body(action: string): { body: Node[]; otherwise: Node[] } {
    const { nodes: body, end } = this.#until()
    const { nodes: otherwise, end: last } = end === "else" ? this.#until() : { nodes: [], end }
    if (last !== "end") throw new Error(`{{ ${action} }} has no end`)
    return { body, otherwise }
  }
}

function piecesOf(source: string): Piece[] {
  const pieces: Piece[] = []
  let rest = source
  while (rest !== "") {
    const at = rest.indexOf("{{")
    const text = at < 0 ? rest : rest.slice(0, at)
    if (text.includes("}}")) throw new Error(`}} closes nothing: ${text.trim()}`)
    if (at < 0) return [...pieces, { text }]
    const end = rest.indexOf("}}", at)
    if (end < 0) throw new Error(`{{ is not closed: ${rest.slice(at, at + 40)}`)
    const inner = rest.slice(at + 2, end)
    pieces.push({ text: inner.startsWith("- ") ? text.trimEnd() : text })
    pieces.push({ action: inner.replace(/^- /, "").replace(/ -$/, "").trim() })
    rest = rest.slice(end + 2)
    if (inner.endsWith(" -")) rest = rest.trimStart()
  }
  return pieces
}

function tokensOf(pipeline: string): string[] {
  return pipeline.match(/"(?:[^"\\]|\\.)*"|[()|]|[^\s()|"]+/g) ?? []
}

/** Truth as in Go: every empty value is false. */
function isTrue(value: unknown): boolean {
  if (typeof value === "object" && value !== null) return Object.keys(value).length > 0
  return Boolean(value)
}

function shown(value: unknown): string {
  return value === undefined || value === null ? "" : String(value)
}
