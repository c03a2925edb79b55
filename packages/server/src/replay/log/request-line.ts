// Parses the request line in an access log: `GET /path HTTP/1.1`.

import { LoggedRequest } from "./logged-request.js"

/** The usual methods. Reusing these strings saves memory with millions of lines. */
const METHODS = ["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"]

/** Parses the request between two positions. Undefined if there is none: failed TLS handshakes leave bytes or nothing. */
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
  // An HTTP/0.9 request has no version.
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

/** Splits `http://host/path`, the form of proxies and ALB. The `host:port` of a CONNECT has no path. */
function absolute(target: string, at: number, ip: string | undefined, method: string) {
  const found = /^[a-z]+:\/\/([^/?#]*)(.*)$/i.exec(target)
  const path = found === null ? (method === "CONNECT" ? undefined : target) : found[2] || "/"
  const request = new LoggedRequest(at, ip, method, path)
  request.host = found === null ? undefined : found[1]
  return request
}

/** Decodes `\x22` and `\"`, by which nginx and Apache escape quotes. */
export function unescaped(text: string): string {
  if (!text.includes("\\")) return text
  return text.replace(/\\(?:x([0-9A-Fa-f]{2})|(.))/g, (_, hex: string | undefined, char: string) =>
    hex === undefined ? char : String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

/** The position of the closing quote, ignoring escaped ones. -1 if there is none. */
export function endOfQuoted(line: string, start: number): number {
  let end = line.indexOf('"', start)
  while (end > start && line.charCodeAt(end - 1) === 92 && isEscape(line, end - 1, start))
    end = line.indexOf('"', end + 1)
  return end
}

/** Whether the character is escaped by a backslash that is not escaped itself. */
function isEscape(line: string, at: number, start: number): boolean {
  let count = 0
  while (at - count >= start && line.charCodeAt(at - count) === 92) count++
  return count % 2 === 1
}

/** The sign for an empty field. */
export function known(text: string | undefined): string | undefined {
  return text === undefined || text === "" || text === "-" ? undefined : text
}
