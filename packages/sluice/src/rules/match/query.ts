// The parameters of a query string, read as form data is: `+` is a space, percent triplets are decoded once, and what
// cannot be decoded stays as it came. Names are compared in any case.

/**
 * All values of the parameters with these names. One name may come more than once, and every value counts. So do those that
 * only some applications see: behind a `;`, and in a list called `x[]` or `x[0]`.
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
  const others = values.get(name)
  if (others === undefined) values.set(name, [value])
  else others.push(value)
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
