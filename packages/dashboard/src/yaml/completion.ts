// What may be typed next, from the schema and from what the page knows besides.

import { type Path, type Place, placeOf } from "./place.js"
import type { Field, SchemaReader } from "./schema.js"

export interface Suggestion {
  readonly label: string
  /** What it takes the place of what is typed with. */
  readonly insert: string
  readonly about: string | undefined
  readonly kind: "field" | "value"
}

export interface Completion {
  /** What of the text is replaced. */
  readonly start: number
  readonly end: number
  readonly suggestions: readonly Suggestion[]
}

/** Values beyond those of the schema: ids of rules, usual windows. */
export type Hints = (path: Path) => readonly string[]

/** Suggestions for a cursor, the best first; none where there is nothing to say. */
export function complete(
  text: string,
  cursor: number,
  schema: SchemaReader,
  hints: Hints = () => [],
): Completion | undefined {
  const place = placeOf(text, cursor)
  if (place === undefined || /^["']/.test(place.typed)) return undefined
  const { path, at, start, typed } = place
  const fields = at === "entry" ? schema.fieldsAt(path).filter(({ name }) => !place.taken.includes(name)) : []
  const values = [...new Set([...schema.valuesAt(path), ...hints(path)])]
  // Directly behind a colon YAML would read both as one word.
  const before = text[start - 1] === ":" ? " " : ""
  const all = [
    ...fields.map((field) => fieldSuggestion(field, place, hasColon(text, cursor))),
    ...values.map(
      (value): Suggestion => ({ label: value, insert: before + value, about: undefined, kind: "value" }),
    ),
  ]
  const suggestions = ranked(all, typed)
  if (suggestions.length === 0 || suggestions.every(({ insert }) => insert === typed)) return undefined
  return { start, end: endOfWord(text, cursor), suggestions }
}

function fieldSuggestion(
  { name, description, shape }: Field,
  { inFlow, indent }: Place,
  isNamed: boolean,
): Suggestion {
  const deeper = `\n${" ".repeat(indent + 2)}`
  const value = inFlow || shape === "value" ? ": " : shape === "map" ? `:${deeper}` : `:${deeper}- `
  return { label: name, insert: isNamed ? name : name + value, about: description, kind: "field" }
}

/** Those that begin as typed come first, then those with a part that does, as `store` in `onStoreFailure`. */
function ranked(all: readonly Suggestion[], typed: string): Suggestion[] {
  const wanted = typed.toLowerCase()
  const starts = all.filter(({ label }) => label.toLowerCase().startsWith(wanted))
  const has = all.filter(
    ({ label }) => !label.toLowerCase().startsWith(wanted) && label.toLowerCase().includes(wanted),
  )
  return [...starts, ...has]
}

/** Whether the name under the cursor has its colon already. */
function hasColon(text: string, cursor: number): boolean {
  return /^[\w-]*[ \t]*:(?:\s|$)/.test(text.slice(cursor, cursor + 80))
}

function endOfWord(text: string, cursor: number): number {
  const rest = /^[\w-]*/.exec(text.slice(cursor, cursor + 80))
  return cursor + (rest?.[0].length ?? 0)
}
