// The host that a request is for.

/** A Host header as hosts are compared: in lower case, without its port and the dot at its end. */
export function comparedHost(header: string): string {
  const bracket = header.lastIndexOf("]")
  const colon = header.indexOf(":", bracket + 1)
  let end = colon < 0 ? header.length : colon
  if (header.charCodeAt(end - 1) === 46) end--
  return header.slice(0, end).toLowerCase()
}

/**
 * Whether header lines (name, value, name, value) name more than one host: in a second Host line, which `node:http` leaves
 * out, or in a Host that differs from the `:authority` of HTTP/2.
 */
export function hasTwoHosts(lines: readonly string[] | undefined): boolean {
  if (lines === undefined) return false
  let host: string | undefined
  let authority: string | undefined
  for (let i = 0; i < lines.length; i += 2) {
    const name = lines[i] as string
    if (name === ":authority") authority = lines[i + 1] as string
    else if (name.length === 4 && name.toLowerCase() === "host") {
      if (host !== undefined) return true
      host = lines[i + 1] as string
    }
  }
  return host !== undefined && authority !== undefined && comparedHost(host) !== comparedHost(authority)
}
