import { isIP } from "node:net"
import type { HeaderSource, RuleRequest } from "sluice/rules"

/**
 * A request of a log. Thousands are in memory at a time while they are sorted, so fields that few formats have are set only if
 * they exist.
 */
export class LoggedRequest implements RuleRequest {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly ip: string | undefined
  readonly method: string | undefined
  readonly path: string | undefined
  host: string | undefined = undefined
  user: string | undefined = undefined
  headers: HeaderSource | undefined = undefined
  declare client?: string | undefined
  declare apiKey?: string | undefined
  declare tier?: string | undefined
  /** The cost of the request, if the log has it. */
  declare cost?: number | undefined
  /** What the response has cost, if the log has it. */
  declare realCost?: number
  /** How long the request took from `at` on, if the log has it and its times are those of the beginning. */
  declare durationMs?: number
  declare domain?: string | undefined
  declare descriptors?: RuleRequest["descriptors"]

  constructor(at: number, ip: string | undefined, method: string | undefined, path: string | undefined) {
    this.at = at
    this.ip = ip
    this.method = method
    this.path = path
  }
}

/** Sets how long a request took, if the value is a number or, as some programs write it, text. */
export function setDuration(request: LoggedRequest, value: unknown, unitMs: number): void {
  const duration = amountOf(value)
  if (duration !== undefined) request.durationMs = duration * unitMs
}

/** A number that is not negative, also as text. */
export function amountOf(value: unknown): number | undefined {
  const amount = typeof value === "string" && value !== "" ? Number(value) : value
  return typeof amount === "number" && amount >= 0 && amount < Number.POSITIVE_INFINITY ? amount : undefined
}

/** Reads the lines of one format. */
export interface LogReader {
  /** The name of the format in reports. */
  readonly format: string
  /** Returns the request of a line, the reason why it is unreadable, or undefined for a line without one, such as a comment. */
  read(line: string): LoggedRequest | string | undefined
  /** The value of a field in the last line that was read. Missing for a format without named fields. */
  readonly field?: (name: string) => unknown
  /** The size of the response in the last line that was read. Missing for a format without it. */
  readonly bytes?: () => unknown
}

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
