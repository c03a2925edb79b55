// Generates requests that contain one credential in different spellings, which an application reads as the same credential:
// beside other copies, encoded, quoted, in another case, with blanks. `spelling` reads each request as applications do, and
// returns only those in which it finds the credential.

export interface Spelling {
  readonly target: string
  /** Header lines as a flat list: name, value, name, value. */
  readonly lines: readonly string[]
}

export type Place = "query" | "cookie" | "header" | "bearer" | "basic"
export const PLACES: readonly Place[] = ["query", "cookie", "header", "bearer", "basic"]

/** The `keyBy` of a rule that counts by the credential. */
export const KEY_BY = {
  query: "query:api_key",
  cookie: "cookie:sid",
  header: "header:x-tenant",
  bearer: "header:authorization",
  basic: "header:authorization",
} as const satisfies Record<Place, string>

/** Returns the next random number in [0, 1). The same seed gives the same sequence. */
export type Random = () => number

export function seeded(seed: number): Random {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return state / 2 ** 31
  }
}

/** Generates a request from which an application reads this credential. */
export function spelling(place: Place, credential: string, random: Random): Spelling {
  for (;;) {
    const made = makers[place](credential, random)
    // Some spellings change the credential. Try again.
    if (readers[place](made).includes(credential)) return made
  }
}

const chance = (random: Random, share: number): boolean => random() < share
const oneOf = <T>(random: Random, values: readonly T[]): T =>
  values[Math.floor(random() * values.length)] as T
const junk = (random: Random): string => `j${Math.floor(random() * 1e6)}`

const makers: Record<Place, (credential: string, random: Random) => Spelling> = {
  query(credential, random) {
    const own = `${encoded("api_key", random)}=${encoded(credential, random)}`
    const others = ["api_key", "API_KEY", "api_key[]", "a", "Api%5Fkey"]
    const pairs = around(own, random, () => `${oneOf(random, others)}=${junk(random)}`)
    return { target: `/?${pairs.join(chance(random, 0.9) ? "&" : ";")}`, lines: [] }
  },
  cookie(credential, random) {
    const value = chance(random, 0.5) ? credential : encoded(credential, random)
    const quoted = oneOf(random, [value, `"${value}"`, ` ${value}\t`, ` "${value}" `])
    const pairs = around(
      `sid=${quoted}`,
      random,
      () => `${oneOf(random, ["sid", "SID", "a"])}=${junk(random)}`,
    )
    if (chance(random, 0.7)) return { target: "/", lines: ["Cookie", pairs.join(oneOf(random, [";", "; "]))] }
    return { target: "/", lines: pairs.flatMap((pair) => [anyCase("cookie", random), pair]) }
  },
  header(credential, random) {
    const values = around(blanks(credential, random), random, () => junk(random))
    return { target: "/", lines: values.flatMap((value) => [anyCase("x-tenant", random), value]) }
  },
  bearer(credential, random) {
    const rest = chance(random, 0.1) ? ` ${junk(random)}` : ""
    const own = `${anyCase("bearer", random)}${oneOf(random, [" ", "  ", "\t"])}${credential}${rest}`
    const values = around(own, random, () => `Bearer ${junk(random)}`)
    return { target: "/", lines: values.flatMap((value) => [anyCase("authorization", random), value]) }
  },
  basic(credential, random) {
    const plain = Buffer.from(credential).toString("base64")
    const at = Math.floor(random() * plain.length)
    const written = oneOf(random, [
      plain,
      plain.replace(/=+$/, ""),
      `${plain}==`,
      `${plain.slice(0, at)}.${plain.slice(at)}`,
      plain.replace(/.(=*)$/, (_, end: string) => oneOf(random, ["A", "B", "Q", "g"]) + end),
    ])
    return { target: "/", lines: ["Authorization", `${anyCase("basic", random)} ${written}`] }
  },
}

/** Every value that some application reads as the credential: the first copy, the last one, or any other. */
const readers: Record<Place, (made: Spelling) => readonly (string | undefined)[]> = {
  query: ({ target }) => new URL(target, "http://a.example").searchParams.getAll("api_key"),
  cookie({ lines }) {
    const pairs = values(lines).join("; ").split(";")
    return [pairs.join(";"), pairs.toReversed().join(";")].map((text) => cookieOf(text, "sid"))
  },
  header: ({ lines }) => values(lines).map((value) => value.trim()),
  bearer: ({ lines }) => values(lines).map((value) => /^bearer[ \t]+(\S+)/i.exec(value)?.[1]),
  basic: ({ lines }) =>
    values(lines).map((value) => {
      const text = /^basic +([\w.~+/-]+=*)$/i.exec(value)?.[1]
      return text === undefined ? undefined : Buffer.from(text, "base64").toString()
    }),
}

/** Reads a cookie as the `cookie` package does: the first one of that name, without quotes, decoded if possible. */
function cookieOf(header: string, name: string): string | undefined {
  for (const pair of header.split(";")) {
    const equals = pair.indexOf("=")
    if (equals < 0 || pair.slice(0, equals).trim() !== name) continue
    const text = pair.slice(equals + 1).trim()
    const value = text.startsWith('"') && text.endsWith('"') ? text.slice(1, -1) : text
    try {
      return decodeURIComponent(value)
    } catch {
      return value
    }
  }
  return undefined
}

function values(lines: readonly string[]): string[] {
  return lines.filter((_, i) => i % 2 === 1)
}

/** Returns `own`, sometimes with another value before it or after it. */
function around(own: string, random: Random, other: () => string): string[] {
  const before = chance(random, 0.3) ? [other()] : []
  return [...before, own, ...(chance(random, 0.3) ? [other()] : [])]
}

function encoded(text: string, random: Random): string {
  const share = oneOf(random, [0, 0, 0.3, 1])
  return [...text]
    .map((character) => {
      const hex = character.charCodeAt(0).toString(16)
      return chance(random, share) ? `%${chance(random, 0.5) ? hex : hex.toUpperCase()}` : character
    })
    .join("")
}

function anyCase(text: string, random: Random): string {
  return [...text].map((letter) => (chance(random, 0.3) ? letter.toUpperCase() : letter)).join("")
}

function blanks(text: string, random: Random): string {
  return oneOf(random, [text, ` ${text}`, `${text} `, `\t${text}\t`])
}
