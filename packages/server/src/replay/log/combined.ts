// The combined format of Apache and nginx, which most logs have. It is parsed without regular expressions, for speed.
//
//   192.0.2.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif HTTP/1.0" 200 2326 "http://referrer/" "agent"
//
// The host may come first, as in Apache's vhost_combined:
//
//   www.example.com:443 192.0.2.1 - frank [10/Oct/2000:13:55:36 -0700] …

import { withoutPort } from "./json-lines.js"
import { ClfTime } from "./log-time.js"
import { isAddress, type LoggedRequest, type LogReader } from "./logged-request.js"
import { endOfQuoted, known, readRequestLine, unescaped } from "./request-line.js"

export interface CombinedOptions {
  /** Whether to read the referrer and the agent too. Only rules that match headers need them. */
  readonly headers: boolean
}

export function combinedReader(format: "common" | "combined", { headers }: CombinedOptions): LogReader {
  const time = new ClfTime()
  let last = ""
  let afterRequest = 0
  const read = (line: string): LoggedRequest | string | undefined => {
    if (line === "") return undefined
    const afterFirst = line.indexOf(" ")
    const first = line.slice(0, afterFirst)
    const hostFirst = afterFirst > 0 && !isAddress(first)
    const ipStart = hostFirst ? afterFirst + 1 : 0
    const afterIp = hostFirst ? line.indexOf(" ", ipStart) : afterFirst
    const bracket = line.indexOf("[", afterFirst + 1)
    if (afterIp <= 0 || bracket < 0) return "no time in brackets"
    const at = time.read(line, bracket + 1)
    if (Number.isNaN(at) || line.charCodeAt(bracket + 27) !== 93)
      return "no time like 17/May/2015:10:05:03 +0000"
    const quote = bracket + 29
    const end = line.charCodeAt(quote) === 34 ? endOfQuoted(line, quote + 1) : -1
    if (end < 0) return "no request in quotes"
    const request = readRequestLine(line, quote + 1, end, at, line.slice(ipStart, afterIp))
    if (request === undefined) return "no request like GET /path HTTP/1.1"
    if (!hasStatus(line, end + 2)) return "no status after the request"
    last = line
    afterRequest = end + 1
    if (hostFirst) request.host = withoutPort(first)
    // `ident user` stands between the address and the time; nearly always two dashes.
    if (bracket - afterIp !== 5 || line.charCodeAt(afterIp + 3) !== 45)
      request.user = known(line.slice(line.indexOf(" ", afterIp + 1) + 1, bracket - 1))
    if (headers && format === "combined") request.headers = headersOf(line, end + 1)
    return request
  }
  const bytes = () => /^ \S+ (\d+)/.exec(last.slice(afterRequest, afterRequest + 32))?.[1]
  return { format, read, bytes }
}

function hasStatus(line: string, at: number): boolean {
  for (let i = at; i < at + 3; i++) {
    const code = line.charCodeAt(i)
    if (!(code >= 48 && code <= 57)) return line.charCodeAt(at) === 45
  }
  return true
}

function headersOf(line: string, from: number): Record<string, string | undefined> | undefined {
  const referer = line.indexOf('"', from)
  const refererEnd = referer < 0 ? -1 : endOfQuoted(line, referer + 1)
  if (refererEnd < 0) return undefined
  const agent = line.indexOf('"', refererEnd + 1)
  const agentEnd = agent < 0 ? -1 : endOfQuoted(line, agent + 1)
  return {
    referer: known(unescaped(line.slice(referer + 1, refererEnd))),
    "user-agent": agentEnd < 0 ? undefined : known(unescaped(line.slice(agent + 1, agentEnd))),
  }
}
