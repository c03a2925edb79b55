// The value of the form: plain JSON that is never modified in place. An empty field has no entry.

import type { Path } from "../../../yaml-editor/place.js"

export type FormValue = Readonly<Record<string, unknown>>

export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, step) => (isNested(at) ? at[step] : undefined), value)
}

/** A copy with another value at a path. Undefined removes the field, and maps that become empty. */
export function withValue(value: FormValue, path: Path, next: unknown): FormValue {
  return (changed(value, path, next) ?? {}) as FormValue
}

function changed(value: unknown, [step, ...rest]: Path, next: unknown): unknown {
  if (step === undefined) return next
  if (typeof step === "number") {
    const list = Array.isArray(value) ? [...value] : []
    const item = changed(list[step], rest, next)
    if (item === undefined && rest.length === 0) list.splice(step, 1)
    // An empty map in a list keeps its place.
    else list[step] = item ?? {}
    return list
  }
  const { [step]: before, ...others } = isNested(value) && !Array.isArray(value) ? value : {}
  const field = changed(before, rest, next)
  if (field !== undefined) {
    // An existing field keeps its place, so that a diff shows one changed line.
    return isNested(value) && step in value ? { ...value, [step]: field } : { ...others, [step]: field }
  }
  return Object.keys(others).length === 0 ? undefined : others
}

/** The typed number. Other text is kept, so that the service reports what is wrong with it. */
export function numberFrom(typed: string): number | string | undefined {
  const text = typed.trim()
  if (text === "") return undefined
  return /^\d{1,15}$/.test(text) ? Number(text) : text
}

/** `GET, POST` → a list. A single value is not a list. */
export function listFrom(typed: string): string | string[] | undefined {
  const items = typed
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "")
  return items.length > 1 ? items : items[0]
}

export function textOfList(value: unknown): string {
  return value === undefined ? "" : [value].flat().map(String).join(", ")
}

/** The names of fields that have a value and are at none of the paths. */
export function othersThan(value: FormValue, known: readonly string[]): string[] {
  return namesIn(value, "").filter((name) => !known.some((path) => covers(path, name)))
}

function namesIn(value: unknown, at: string): string[] {
  if (!isNested(value) || Array.isArray(value)) return [at]
  const fields = Object.entries(value)
  return at === "" || at === "match" || at === "response"
    ? fields.flatMap(([name, field]) => namesIn(field, at === "" ? name : `${at}.${name}`))
    : [at]
}

function covers(path: string, name: string): boolean {
  return name === path || name.startsWith(`${path}.`) || name.startsWith(`${path}[`)
}

function isNested(value: unknown): value is Record<string | number, unknown> {
  return typeof value === "object" && value !== null
}
