// The placeholders in the `response.body` of a rule: `{limit}`, `{remaining}`, `{retryAfter}` and `{rule}`. `{{limit}}` stands for
// the text `{limit}` itself.

import type { ResponseSpec } from "./schema.js"

type Body = NonNullable<ResponseSpec["body"]>

const NAMES = ["limit", "remaining", "retryAfter", "rule"] as const
type Name = (typeof NAMES)[number]

/** What the placeholders stand for. `retryAfter` is in whole seconds, undefined if waiting does not help. */
export interface BodyValues {
  readonly limit: number
  readonly remaining: number
  readonly retryAfter: number | undefined
  readonly rule: string
}

/** Braces around one word. In text such as JSON, other braces are left alone. */
const PLACEHOLDER = /\{\{(\w+)\}\}|\{(\w+)\}/g
const ONLY_PLACEHOLDER = /^\{(\w+)\}$/

/** What is wrong with the placeholders of a body. Undefined if nothing is. */
export function problemOfBody(body: unknown): string | undefined {
  const left = [body]
  const seen = new Set<unknown>()
  while (left.length > 0) {
    const value = left.pop()
    if (typeof value === "string") {
      const wrong = [...value.matchAll(PLACEHOLDER)].find(([, , name]) => name !== undefined && !isName(name))
      if (wrong !== undefined) return unknownName(wrong[2] as string)
    } else if (typeof value === "object" && value !== null && !seen.has(value)) {
      seen.add(value)
      const [only, ...others] = Object.entries(value)
      if (only !== undefined && others.length === 0 && isName(only[0]) && only[1] === null)
        return `must have "{${only[0]}}" in quotes, because YAML reads {${only[0]}} as a map`
      left.push(...Object.values(value))
    }
  }
  return undefined
}

function unknownName(name: string): string {
  const known = NAMES.map((known) => `{${known}}`).join(", ")
  return `has an unknown placeholder {${name.slice(0, 60)}}; known are ${known}. Write {{${name.slice(0, 60)}}} for the text itself`
}

/** The body with its placeholders replaced, as text. */
export function filledBody(body: Body, values: BodyValues, contentType: string | undefined): string {
  if (typeof body === "string") {
    // JSON has no word for a wait that never ends.
    const never = contentType !== undefined && /json/i.test(contentType) ? "null" : "never"
    return filledText(body, values, never)
  }
  return JSON.stringify(body, (_name, value: unknown) => {
    if (typeof value !== "string" || !value.includes("{")) return value
    const only = ONLY_PLACEHOLDER.exec(value)?.[1]
    // A member that is nothing but a placeholder is a number in JSON.
    return isName(only) ? (values[only] ?? null) : filledText(value, values, "never")
  })
}

function filledText(text: string, values: BodyValues, never: string): string {
  return text.replace(PLACEHOLDER, (whole, literal: string | undefined, name: string | undefined) => {
    if (literal !== undefined) return `{${literal}}`
    return isName(name) ? String(values[name] ?? never) : whole
  })
}

function isName(name: string | undefined): name is Name {
  return NAMES.includes(name as Name)
}
