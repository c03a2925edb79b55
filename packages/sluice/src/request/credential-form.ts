// The one form of what clients are told apart by. A credential has many spellings that an application takes for the same:
// `Bearer x` and `bearer  x`, `sid="x"` and `sid=x`, `RE%41L` and `REAL`. Each has one key, or is refused: with a key for
// each spelling, a client would have a limit for each.

/** What stands in for a value that can be read in more than one way. */
export const UNCLEAR = Symbol("unclear")

export type Form = string | typeof UNCLEAR

const BLANKS = /^[ \t]+|[ \t]+$/g
const BLANK = /[ \t]/
const SCHEME = /^[\w!#$%&'*+.^`|~-]+$/
/** Schemes with one token behind them. `split(" ")[1]`, which many applications use, cuts off what follows a blank. */
const TOKEN_SCHEMES: ReadonlySet<string> = new Set(["bearer", "apikey", "token"])
const SCHEMES: ReadonlySet<string> = new Set([...TOKEN_SCHEMES, "basic", "digest", "negotiate"])

/** A value without the blanks around it, which are not part of it. */
export function trimmed(value: string): string {
  return isBlank(value.charCodeAt(0)) || isBlank(value.charCodeAt(value.length - 1))
    ? value.replace(BLANKS, "")
    : value
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

/** The value of Authorization: its scheme in one case, one space, the credentials. A scheme alone is nothing. */
export function authorizationForm(value: string): Form {
  const text = trimmed(value)
  const blank = text.search(BLANK)
  // A token without a scheme is a token, in the case it came.
  if (blank < 0) return SCHEMES.has(text.toLowerCase()) ? "" : tokenForm(text)
  const scheme = text.slice(0, blank).toLowerCase()
  if (!SCHEME.test(scheme)) return text
  const rest = trimmed(text.slice(blank))
  // Rule sets name such credentials by the hash of what nearly every client sends.
  if (scheme === "basic") return prefixed("Basic ", basicForm(rest))
  return prefixed(`${scheme} `, TOKEN_SCHEMES.has(scheme) ? tokenForm(rest) : rest)
}

/** An API key in a header: without a scheme in front of it that only says that it is one. */
export function apiKeyForm(value: string): Form {
  const form = authorizationForm(value)
  if (form === UNCLEAR) return UNCLEAR
  const space = form.indexOf(" ")
  return TOKEN_SCHEMES.has(form.slice(0, space)) ? form.slice(space + 1) : form
}

function prefixed(start: string, form: Form): Form {
  return form === UNCLEAR ? UNCLEAR : start + form
}

/** Programs that decode Base64 pass over what does not belong there, each something else. */
function basicForm(credentials: string): Form {
  try {
    const form = btoa(atob(credentials))
    return form.replace(/=+$/, "") === credentials.replace(/=+$/, "") ? form : UNCLEAR
  } catch {
    return UNCLEAR
  }
}

/** A token by itself. */
export function tokenForm(token: string): Form {
  return BLANK.test(token) || hasSpareBits(token) ? UNCLEAR : token
}

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/**
 * Whether a JSON Web Token is written in another way than it was issued. The last character of its signature has up to four
 * bits that mean nothing, and most programs do not look at them, nor at characters that do not belong there: sixteen tokens
 * would be one.
 */
function hasSpareBits(token: string): boolean {
  if (!token.startsWith("ey")) return false
  const parts = token.split(".")
  return (
    parts.length >= 3 &&
    parts.some((part) => {
      const over = part.length % 4
      const last = BASE64URL.indexOf(part.at(-1) ?? "")
      return (
        !/^[\w-]*$/.test(part) ||
        over === 1 ||
        (over === 2 && last % 16 !== 0) ||
        (over === 3 && last % 4 !== 0)
      )
    })
  )
}

/**
 * A cookie by its name, as the `cookie` package and most others read it: quotes around it do not count, and it may be
 * percent-encoded. Undefined if there is none, unclear if there is more than one. `joint` also separates cookies: a fetch
 * `Headers` may have joined lines by a comma.
 */
export function cookieForm(header: string, name: string, joint: ";" | ";,"): Form | undefined {
  let found: string | undefined
  for (const pair of header.split(joint === ";" ? ";" : /[;,]/)) {
    const equals = pair.indexOf("=")
    if (equals < 1 || trimmed(pair.slice(0, equals)) !== name) continue
    if (found !== undefined) return UNCLEAR
    found = trimmed(pair.slice(equals + 1))
  }
  if (found === undefined) return undefined
  if (!found.startsWith('"') || !found.endsWith('"')) return decoded(found)
  // To some programs a backslash in quotes is itself, to others it starts an escape.
  return found.includes("\\") ? UNCLEAR : decoded(found.slice(1, -1))
}

/**
 * A query parameter by its name, in any case, decoded as form data is. Undefined if there is none, unclear if there is more
 * than one. To some programs `;` separates parameters like `&`, and `x[]` and `x[0]` are lists called `x`.
 */
export function queryForm(query: string, name: string): Form | undefined {
  const wanted = name.toLowerCase()
  let found: string | undefined
  let isUnclear = false
  for (const pair of query.split("&")) {
    const pieces = pair.includes(";") ? pair.split(";") : [pair]
    for (const piece of pieces) {
      const equals = piece.indexOf("=")
      const given = decoded(spaced(equals < 0 ? piece : piece.slice(0, equals)))
      if (given === UNCLEAR) continue
      const lower = given.toLowerCase()
      const isList = lower.startsWith(`${wanted}[`)
      if (lower !== wanted && !isList) continue
      isUnclear ||= found !== undefined || isList || pieces.length > 1
      found = equals < 0 ? "" : spaced(piece.slice(equals + 1))
    }
  }
  if (found === undefined) return undefined
  return isUnclear ? UNCLEAR : decoded(found)
}

function spaced(text: string): string {
  return text.includes("+") ? text.replaceAll("+", " ") : text
}

/** Some programs leave a text as it is that is not well encoded, others decode what they can. */
function decoded(text: string): Form {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return UNCLEAR
  }
}
