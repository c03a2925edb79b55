import { getOrAdd } from "../../get-or-add.js"

/**
 * Reads the values of some parameters of a query string, by their lower-case names. A parameter may have several values.
 * Values are decoded like form data: `+` is a space, and percent-encoding is decoded once. A value with invalid
 * percent-encoding stays as it is. Some applications also accept `;` as a separator, and `x[]` or `x[0]` as a list `x`. Their
 * values count too, so that they do not escape a rule.
 */
export function readQuery(query: string, names: ReadonlySet<string>): Map<string, string[]> {
  const values = new Map<string, string[]>()
  let start = 0
  while (start < query.length) {
    const ampersand = query.indexOf("&", start)
    const end = ampersand < 0 ? query.length : ampersand
    const pair = query.slice(start, end)
    readPair(pair, names, values)
    if (pair.includes(";")) for (const piece of pair.split(";")) readPair(piece, names, values)
    start = end + 1
  }
  return values
}

function readPair(pair: string, names: ReadonlySet<string>, values: Map<string, string[]>): void {
  const equals = pair.indexOf("=")
  let name = decode(equals < 0 ? pair : pair.slice(0, equals)).toLowerCase()
  if (!names.has(name)) {
    const bracket = name.indexOf("[")
    if (bracket < 1) return
    name = name.slice(0, bracket)
    if (!names.has(name)) return
  }
  const value = equals < 0 ? "" : decode(pair.slice(equals + 1))
  getOrAdd(values, name, () => []).push(value)
}

function decode(text: string): string {
  const spaced = text.includes("+") ? text.replaceAll("+", " ") : text
  if (!spaced.includes("%")) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    return spaced
  }
}
