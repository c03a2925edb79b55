/** The host of a Host header in the form in which hosts are compared: lower case, without the port and a final dot. */
export function comparedHost(header: string): string {
  const bracket = header.lastIndexOf("]")
  const colon = header.indexOf(":", bracket + 1)
  let end = colon < 0 ? header.length : colon
  if (header.charCodeAt(end - 1) === 46) end--
  return header.slice(0, end).toLowerCase()
}

/**
 * Whether header lines (name, value, name, value) name more than one host: by a second Host line, which `node:http` drops, or by
 * a Host that differs from `:authority` in HTTP/2.
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
