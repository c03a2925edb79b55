import { isIP } from "node:net"
import type { LogReader } from "./log-reader.js"
import type { LoggedRequest } from "./logged-request.js"

/**
 * Reads a line as `LogReader.read` does, and refuses a request whose address is none: it was taken from the wrong place, and
 * all such requests would count as one client. The decision log holds what callers said, whatever that was.
 */
export function readLine(reader: LogReader, line: string): LoggedRequest | string | undefined {
  const read = reader.read(line)
  if (typeof read !== "object" || read.ip === undefined || reader.format === "record") return read
  return isAddress(read.ip) ? read : `"${read.ip.slice(0, 60)}" is no address`
}

let last = ""

/** Most lines come from the client of the line before, or from one close to it. */
export function isAddress(text: string): boolean {
  if (text === last) return true
  if (isIP(text) === 0) return false
  last = text
  return true
}
