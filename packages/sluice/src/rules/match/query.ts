// The parameters of a query string, read as form data is: `+` is a space, percent triplets are decoded once, and what
// cannot be decoded stays as it came. Names are compared in any case.

/** All values of the parameters with these names. One name may come more than once, and every value counts. */
export function readQuery(query: string, names: ReadonlySet<string>): Map<string, string[]> {
  const values = new Map<string, string[]>()
  let start = 0
  while (start < query.length) {
    const ampersand = query.indexOf("&", start)
    const end = ampersand < 0 ? query.length : ampersand
    const pair = query.slice(start, end)
    const equals = pair.indexOf("=")
    const name = decode(equals < 0 ? pair : pair.slice(0, equals)).toLowerCase()
    if (names.has(name)) {
      const value = equals < 0 ? "" : decode(pair.slice(equals + 1))
      const others = values.get(name)
      if (others === undefined) values.set(name, [value])
      else others.push(value)
    }
    start = end + 1
  }
  return values
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
