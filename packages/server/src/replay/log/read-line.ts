import { isIP } from "node:net"
import type { LogReader } from "./log-reader.js"
import type { LoggedRequest } from "./logged-request.js"

/**
 * Reads a line as `LogReader.read` does, and refuses a request without a valid address: the field was misread, and all such
 * requests would count as one client. The decision log is exempt, because it records what callers sent.
 */
export function readLine(reader: LogReader, line: string): LoggedRequest | string | undefined {
  const read = reader.read(line)
  if (typeof read !== "object" || read.ip === undefined || reader.format === "record") return read
  return isAddress(read.ip) ? read : `"${read.ip.slice(0, 60)}" is no address`
}

let last = ""

/** Remembers the last valid addresses, because neighbouring lines often have the same client. */
export function isAddress(text: string): boolean {
  if (text === last) return true
  if (isIP(text) === 0) return false
  last = text
  return true
}
