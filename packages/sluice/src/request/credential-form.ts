// The canonical form of credentials and other values that clients are counted by. Applications accept many spellings of the same
// credential: `Bearer x` and `bearer  x`, `sid="x"` and `sid=x`, `RE%41L` and `REAL`. All spellings get the same key, or are
// refused. Otherwise a client would have one limit per spelling.

/** Takes the place of a value that programs read in different ways. */
export const UNCLEAR = Symbol("unclear")

export type Form = string | typeof UNCLEAR

const BLANKS = /^[ \t]+|[ \t]+$/g
const BLANK = /[ \t]/
const SCHEME = /^[\w!#$%&'*+.^`|~-]+$/
/** Schemes that are followed by one token. Many applications read it by `split(" ")[1]` and ignore the rest. */
const TOKEN_SCHEMES: ReadonlySet<string> = new Set(["bearer", "apikey", "token"])
const SCHEMES: ReadonlySet<string> = new Set([...TOKEN_SCHEMES, "basic", "digest", "negotiate"])

/** Removes spaces and tabs around a value. */
export function trimmed(value: string): string {
  return isBlank(value.charCodeAt(0)) || isBlank(value.charCodeAt(value.length - 1))
    ? value.replace(BLANKS, "")
    : value
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

/**
 * The form in which a header is counted. `Authorization` and `Proxy-Authorization` have a form of their own; of all others, the
 * spaces around the value are removed.
 */
export function headerForm(name: string, value: string): Form {
  const isAuthorization = name === "authorization" || name === "proxy-authorization"
  return isAuthorization ? authorizationForm(value) : trimmed(value)
}

/** The form of an Authorization header: the scheme in lower case, one space, the credentials. Empty for a scheme alone. */
export function authorizationForm(value: string): Form {
  const text = trimmed(value)
  const blank = text.search(BLANK)
  // A token without a scheme keeps its case.
  if (blank < 0) return SCHEMES.has(text.toLowerCase()) ? "" : tokenForm(text)
  const scheme = text.slice(0, blank).toLowerCase()
  if (!SCHEME.test(scheme)) return text
  const rest = trimmed(text.slice(blank))
  // Rule sets contain the hash of the usual spelling, `Basic`.
  if (scheme === "basic") return prefixed("Basic ", basicForm(rest))
  return prefixed(`${scheme} `, TOKEN_SCHEMES.has(scheme) ? tokenForm(rest) : rest)
}

/** The form of an API key in a header, without a scheme such as `ApiKey` in front of it. */
export function apiKeyForm(value: string): Form {
  const form = authorizationForm(value)
  if (form === UNCLEAR) return UNCLEAR
  const space = form.indexOf(" ")
  return TOKEN_SCHEMES.has(form.slice(0, space)) ? form.slice(space + 1) : form
}

function prefixed(start: string, form: Form): Form {
  return form === UNCLEAR ? UNCLEAR : start + form
}

/** Decoders of Base64 differ in which invalid characters they ignore, so only canonical Base64 is accepted. */
function basicForm(credentials: string): Form {
  try {
    const form = btoa(atob(credentials))
    return form.replace(/=+$/, "") === credentials.replace(/=+$/, "") ? form : UNCLEAR
  } catch {
    return UNCLEAR
  }
}

/** The form of a token without a scheme. */
export function tokenForm(token: string): Form {
  return BLANK.test(token) || hasSpareBits(token) ? UNCLEAR : token
}

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/**
 * Whether a JSON Web Token differs from the spelling in which it was issued. The last character of each part has up to four
 * unused bits. Most programs ignore these bits and invalid characters, so that sixteen spellings would be one token.
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
 * The form of a cookie, as the `cookie` package and most others read it: without quotes, and percent-decoded. Undefined if there
 * is none, UNCLEAR if there are several. `joint` contains the separators of cookies: a fetch `Headers` object may join lines by a
 * comma.
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
  // Some programs read a backslash in quotes as the start of an escape, others as a character.
  return found.includes("\\") ? UNCLEAR : decoded(found.slice(1, -1))
}

/**
 * The form of a query parameter, decoded like form data. Its name is compared without regard to case. Undefined if there is none,
 * UNCLEAR if there are several. Some programs also accept `;` as a separator, and `x[]` or `x[0]` as a list `x`.
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

/** Percent-decodes a text. Programs differ in how they read invalid percent-encoding, so that it is UNCLEAR. */
function decoded(text: string): Form {
  if (!text.includes("%")) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return UNCLEAR
  }
}
