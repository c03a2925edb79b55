// The parts of `keyBy`: what of a request a rule counts by.

import { SluiceError } from "../../errors.js"

const PLAIN = ["ip", "user", "apiKey", "method", "route", "host", "global", "descriptor"] as const
const NAMED = ["header", "query", "cookie", "param", "descriptor"] as const

export interface KeyPart {
  /** As the rule writes it: `ip`, `header:x-tenant`. */
  readonly text: string
  readonly kind: (typeof PLAIN)[number] | (typeof NAMED)[number]
  /** The name after the colon, or empty. Header names are in lower case. */
  readonly name: string
}

export function parseKeyPart(text: string, place: string): KeyPart {
  if ((PLAIN as readonly string[]).includes(text))
    return { text, kind: text as (typeof PLAIN)[number], name: "" }
  const colon = text.indexOf(":")
  const kind = text.slice(0, colon)
  const name = text.slice(colon + 1)
  const isName = kind === "descriptor" ? /^\d{1,2}$/ : /^[\x21-\x7e]{1,128}$/
  if (!(NAMED as readonly string[]).includes(kind) || !isName.test(name)) {
    throw new SluiceError("RULE_FIELD_INVALID", {
      place,
      expected: `must be one of ${PLAIN.join(", ")}, or header:…, query:…, cookie:…, param:… with a name`,
      found: text,
    })
  }
  return {
    text: kind === "header" ? text.toLowerCase() : text,
    kind: kind as (typeof NAMED)[number],
    name: kind === "header" ? name.toLowerCase() : name,
  }
}
