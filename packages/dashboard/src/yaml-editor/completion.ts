// Suggestions for the YAML of rules, from the JSON Schema of rule sets and from hints of the page.

import { type Path, type Place, placeOf } from "./place.js"
import type { Field, SchemaReader } from "./schema.js"

export interface Suggestion {
  readonly label: string
  /** The text that replaces the current word. */
  readonly insert: string
  readonly about: string | undefined
  readonly kind: "field" | "value"
}

export interface Suggestions {
  /** The range of the text that a suggestion replaces. */
  readonly start: number
  readonly end: number
  readonly list: readonly Suggestion[]
}

/** Values that the schema does not list, such as the ids of rules and common windows. */
export type Hints = (path: Path) => readonly string[]

/** Suggestions for a cursor, the best one first, or undefined if there are none. */
export function suggest(
  text: string,
  cursor: number,
  schema: SchemaReader,
  hints: Hints = () => [],
): Suggestions | undefined {
  const place = placeOf(text, cursor)
  if (place === undefined || /^["']/.test(place.typed)) return undefined
  const { path, at, start, typed } = place
  const fields = at === "entry" ? schema.fieldsAt(path).filter(({ name }) => !place.taken.includes(name)) : []
  const values = [...new Set([...schema.valuesAt(path), ...hints(path)])]
  // YAML reads `mode:off` as a single word.
  const blank = text[start - 1] === ":" ? " " : ""
  const all = [
    ...fields.map((field) => fieldSuggestion(field, place, hasColon(text, cursor))),
    ...values.map(
      (value): Suggestion => ({ label: value, insert: blank + value, about: undefined, kind: "value" }),
    ),
  ]
  const list = ranked(all, typed)
  if (list.length === 0 || list.every(({ insert }) => insert === typed)) return undefined
  return { start, end: endOfWord(text, cursor), list }
}

/** A field name together with the start of its value: `mode: `, `limits:` and the dash of the first item. */
function fieldSuggestion(
  { name, description, shape }: Field,
  { inFlow, indent }: Place,
  isNamed: boolean,
): Suggestion {
  const deeper = `\n${" ".repeat(indent + 2)}`
  const value = inFlow || shape === "value" ? ": " : shape === "map" ? `:${deeper}` : `:${deeper}- `
  return { label: name, insert: isNamed ? name : name + value, about: description, kind: "field" }
}

/** Labels that start with the typed text come first, then labels that contain it, as `store` in `onStoreFailure`. */
function ranked(all: readonly Suggestion[], typed: string): Suggestion[] {
  const wanted = typed.toLowerCase()
  const starts = all.filter(({ label }) => label.toLowerCase().startsWith(wanted))
  const contains = all.filter(
    ({ label }) => !label.toLowerCase().startsWith(wanted) && label.toLowerCase().includes(wanted),
  )
  return [...starts, ...contains]
}

/** Whether a colon already follows the name under the cursor. */
function hasColon(text: string, cursor: number): boolean {
  return /^[\w-]*[ \t]*:(?:\s|$)/.test(text.slice(cursor, cursor + 80))
}

function endOfWord(text: string, cursor: number): number {
  const rest = /^[\w-]*/.exec(text.slice(cursor, cursor + 80))
  return cursor + (rest?.[0].length ?? 0)
}
