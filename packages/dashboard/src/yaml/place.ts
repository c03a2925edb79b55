// Where in a YAML text somebody is typing: inside of what, behind which name, and what is there already.

import { type Token, tokensOf } from "./tokens.js"

export type Path = readonly (string | number)[]

export interface Place {
  /** The map or list that the cursor is in; behind `limit:` the field itself. */
  readonly path: Path
  /** `entry` where a name or an item may begin, `value` behind the colon of a name. */
  readonly at: "entry" | "value"
  /** What is typed of it so far. */
  readonly typed: string
  /** Where that begins. */
  readonly start: number
  /** Names that the map has already. */
  readonly taken: readonly string[]
  /** Whether it is between brackets. */
  readonly inFlow: boolean
  /** The column that a new line of the same map begins in. */
  readonly indent: number
}

/** A map or list that is open at some point of the text. */
interface Frame {
  kind: "map" | "list"
  /** The column of its entries; undefined between brackets, where columns mean nothing. */
  readonly column: number | undefined
  readonly names: string[]
  name: string | undefined
  index: number
}

/** The place of a cursor; undefined inside of comments, block texts and other places without names. */
export function placeOf(text: string, cursor: number): Place | undefined {
  const tokens = tokensOf(text)
  const under = tokens.find(({ start, end }) => start < cursor && cursor <= end)
  if (under?.kind === "comment" || under?.kind === "block" || under?.kind === "mark") return undefined
  const typing = under !== undefined && ["key", "text", "literal"].includes(under.kind) ? under : undefined
  const start = typing?.start ?? cursor
  const column = start - (text.lastIndexOf("\n", start - 1) + 1)
  const walk = new Walk(text)
  let found: Omit<Place, "typed" | "start" | "taken"> | undefined
  let frame: Frame | undefined
  for (const token of tokens) {
    if (token.start >= start && found === undefined) {
      found = walk.placeAt(column, isSameLine(text, tokens, start))
      frame = walk.frameFor(found)
    }
    // What is being typed is not there yet.
    if (token !== typing) walk.take(token)
  }
  found ??= walk.placeAt(column, isSameLine(text, tokens, start))
  frame ??= walk.frameFor(found)
  return { ...found, typed: text.slice(start, cursor), start, taken: frame?.names ?? [] }
}

/** Whether anything but dashes stands before a place in its line: then its column says nothing. */
function isSameLine(text: string, tokens: readonly Token[], start: number): boolean {
  const lineStart = text.lastIndexOf("\n", start - 1) + 1
  return tokens.some((token) => token.start >= lineStart && token.start < start && token.kind !== "dash")
}

class Walk {
  readonly #text: string
  readonly #frames: Frame[] = []
  #last: Token | undefined

  constructor(text: string) {
    this.#text = text
  }

  take(token: Token): void {
    const { kind, column } = token
    const top = this.#top()
    const isFlow = top !== undefined && top.column === undefined
    if (kind === "open") this.#push(this.#text[token.start] === "{" ? "map" : "list", undefined)
    else if (kind === "close" && isFlow) this.#frames.pop()
    else if (kind === "comma" && isFlow) {
      if (top.kind === "list") top.index++
      top.name = undefined
    } else if (kind === "dash") this.#dash(column)
    else if (kind === "key") this.#key(unquoted(this.#text.slice(token.start, token.end)), column, isFlow)
    this.#last = token
  }

  placeAt(column: number, isSameLine: boolean): Omit<Place, "typed" | "start" | "taken"> {
    const top = this.#top()
    const inFlow = top !== undefined && top.column === undefined
    if (inFlow) {
      const isValue = top.kind === "map" && top.name !== undefined
      return { path: this.#path(isValue ? 0 : 1), at: isValue ? "value" : "entry", inFlow, indent: 0 }
    }
    if (isSameLine && this.#last?.kind === "colon") {
      return { path: this.#path(0), at: "value", inFlow, indent: top?.column ?? 0 }
    }
    this.#closeTo(column)
    const here = this.#top()
    if (here?.kind === "list" && here.column === column && this.#last?.kind !== "dash") {
      // A line of its own in the column of the dashes goes on with the map around the list.
      this.#frames.pop()
    }
    const around = this.#top()
    if (around?.kind !== "map" || around.column !== column) this.#push("map", column)
    return { path: this.#path(1), at: "entry", inFlow, indent: column }
  }

  /** The map that a place is in, so that names which come behind it are seen too. */
  frameFor({ at }: { readonly at: Place["at"] }): Frame | undefined {
    return at === "entry" ? this.#top() : undefined
  }

  #dash(column: number): void {
    while (this.#isDeeper(column)) this.#frames.pop()
    const top = this.#top()
    if (top?.kind === "list" && top.column === column) top.index++
    else this.#push("list", column)
  }

  #key(name: string, column: number, isFlow: boolean): void {
    if (!isFlow) {
      this.#closeTo(column)
      const top = this.#top()
      if (top?.kind === "list" && top.column === column) this.#frames.pop()
      const around = this.#top()
      if (around?.kind !== "map" || around.column !== column) this.#push("map", column)
    }
    const map = this.#top() as Frame
    map.name = name
    map.names.push(name)
  }

  #closeTo(column: number): void {
    while (this.#isDeeper(column)) this.#frames.pop()
  }

  #isDeeper(column: number): boolean {
    const top = this.#top()
    return top !== undefined && (top.column === undefined || top.column > column)
  }

  #push(kind: Frame["kind"], column: number | undefined): void {
    this.#frames.push({ kind, column, names: [], name: undefined, index: 0 })
  }

  #top(): Frame | undefined {
    return this.#frames.at(-1)
  }

  /** The path to what is open, without the step into the innermost map, or with it. */
  #path(without: 0 | 1): Path {
    return this.#frames.flatMap((frame, i): Path => {
      if (frame.kind === "list") return [frame.index]
      const isInnermost = i === this.#frames.length - 1
      return frame.name === undefined || (isInnermost && without === 1) ? [] : [frame.name]
    })
  }
}

function unquoted(name: string): string {
  return /^["']/.test(name) ? name.slice(1, -1) : name
}
