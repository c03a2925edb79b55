// What stands between the quotes of an access log: `GET /path HTTP/1.1`.

import { LoggedRequest } from "./logged-request.js"

/** Of nearly all requests. Not made anew for each of millions of lines. */
const METHODS = ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"]

/** The request between two places of a line, or undefined: broken TLS handshakes leave bytes or nothing there. */
export function readRequestLine(
  line: string,
  start: number,
  end: number,
  at: number,
  ip: string | undefined,
): LoggedRequest | undefined {
  const space = line.indexOf(" ", start)
  const method = space < 0 || space >= end ? undefined : methodOf(line, start, space)
  if (method === undefined) return undefined
  const last = line.lastIndexOf(" ", end - 1)
  // HTTP/0.9 has no version at its end.
  const pathEnd = last > space && line.startsWith("HTTP/", last + 1) ? last : end
  const target = unescaped(line.slice(space + 1, pathEnd))
  if (target === "") return undefined
  if (target.charCodeAt(0) === 47 || target === "*") return new LoggedRequest(at, ip, method, target)
  return absolute(target, at, ip, method)
}

function methodOf(line: string, start: number, end: number): string | undefined {
  for (let i = 0; i < METHODS.length; i++) {
    const method = METHODS[i] as string
    if (method.length === end - start && line.startsWith(method, start)) return method
  }
  const method = line.slice(start, end)
  return /^[A-Z_-]+$/.test(method) ? method : undefined
}

/** `http://host/path`, as proxies and ALB write it; `host:port` of a CONNECT has no path. */
function absolute(target: string, at: number, ip: string | undefined, method: string) {
  const found = /^[a-z]+:\/\/([^/?#]*)(.*)$/i.exec(target)
  const path = found === null ? (method === "CONNECT" ? undefined : target) : found[2] || "/"
  const request = new LoggedRequest(at, ip, method, path)
  request.host = found === null ? undefined : found[1]
  return request
}

/** `\x22` and `\"` as nginx and Apache write what would end the quotes. */
export function unescaped(text: string): string {
  if (!text.includes("\\")) return text
  return text.replace(/\\(?:x([0-9A-Fa-f]{2})|(.))/g, (_, hex: string | undefined, char: string) =>
    hex === undefined ? char : String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

/** The end of what stands in quotes from there on: their closing one, not one behind a backslash. -1 without. */
export function endOfQuoted(line: string, start: number): number {
  let end = line.indexOf('"', start)
  while (end > start && line.charCodeAt(end - 1) === 92 && isEscape(line, end - 1, start))
    end = line.indexOf('"', end + 1)
  return end
}

/** Whether a backslash escapes what is behind it, and is not escaped itself. */
function isEscape(line: string, at: number, start: number): boolean {
  let count = 0
  while (at - count >= start && line.charCodeAt(at - count) === 92) count++
  return count % 2 === 1
}

/** What a log has for nothing. */
export function known(text: string | undefined): string | undefined {
  return text === undefined || text === "" || text === "-" ? undefined : text
}
