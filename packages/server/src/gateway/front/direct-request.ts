// A request read from the bytes of its connection, if it is of the plain kind that nearly every program sends: well-formed
// HTTP/1.1, all there, and without anything that changes how it is read or what becomes of the connection. Whatever differs,
// however slightly, is nobody's here and left to `node:http`, which sees the same bytes: so no request is understood by two
// parsers in two ways.

import type { IncomingHttpHeaders } from "node:http"
import type { Socket } from "node:net"
import { NOT_PLAIN } from "../../http1/not-plain.js"
import { tokenBytes } from "../../http1/token-bytes.js"
import type { ClientRequest } from "./client-request.js"

const METHODS = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
const LONGEST_METHOD = 7
const VERSION = Buffer.from("HTTP/1.1\r\n")
const BLANK_LINE = Buffer.from("\r\n\r\n")
const TAB = 0x09
const LF = 0x0a
const CR = 0x0d
const SPACE = 0x20
const SLASH = 0x2f
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
const TILDE = 0x7e
/** Far more than programs send; what is beyond `node:http` may leave out. */
const MOST_HEADERS = 100
/** A body that comes with its head is small: this is what one read takes at most. */
const MOST_BODY_BYTES = 65_536
/** Of fields that are kept for each connection. */
const MOST_KNOWN_BYTES = 2_048

/** All of a head but its first line. */
export interface Fields {
  readonly headers: Readonly<IncomingHttpHeaders>
  readonly rawHeaders: readonly string[]
  readonly bodyLength: number
  /** How many bytes they have, with the blank line. */
  readonly length: number
  /** A copy of those, by which they are known when they come again. Undefined where they are too many to be kept. */
  readonly bytes: Buffer | undefined
}

export class DirectRequest implements ClientRequest {
  readonly method: string
  readonly url: string
  readonly httpVersion = "1.1"
  readonly httpVersionMajor = 1
  readonly httpVersionMinor = 1
  readonly fields: Fields
  readonly socket: Socket
  readonly body: Buffer | undefined
  /** How many bytes it has, with its body. */
  readonly length: number

  constructor(
    socket: Socket,
    method: string,
    url: string,
    fields: Fields,
    body: Buffer | undefined,
    length: number,
  ) {
    this.socket = socket
    this.method = method
    this.url = url
    this.fields = fields
    this.body = body
    this.length = length
  }

  get headers(): Readonly<IncomingHttpHeaders> {
    return this.fields.headers
  }

  get rawHeaders(): readonly string[] {
    return this.fields.rawHeaders
  }
}

/**
 * Undefined when it is not whole, not plain or not well-formed, or its head is longer than `mostBytes`. `known` are the fields of
 * the request before it: most clients send the same over and over, only for other paths, and to compare them costs a fraction
 * of reading them.
 */
export function directRequest(
  socket: Socket,
  bytes: Buffer,
  mostBytes: number,
  known: Fields | undefined,
): DirectRequest | undefined {
  const methodEnd = endOfMethod(bytes)
  const urlStart = methodEnd + 1
  const urlEnd = endOfUrl(bytes, urlStart)
  if (urlEnd < 0 || !hasVersion(bytes, urlEnd + 1)) return undefined
  const line = bytes.toString("latin1", 0, urlEnd)
  const method = line.slice(0, methodEnd)
  if (!METHODS.has(method)) return undefined
  const fieldsStart = urlEnd + 1 + VERSION.length
  const fields = areAt(bytes, fieldsStart, known) ? known : readFields(bytes, fieldsStart)
  if (fields === undefined) return undefined
  const bodyStart = fieldsStart + fields.length
  const { bodyLength } = fields
  if (bodyStart > mostBytes || bodyStart + bodyLength > bytes.length) return undefined
  // A copy: the bytes are written over by the next read, and the body may have to wait for its upstream.
  const body = bodyLength === 0 ? undefined : Buffer.from(bytes.subarray(bodyStart, bodyStart + bodyLength))
  return new DirectRequest(socket, method, line.slice(urlStart), fields, body, bodyStart + bodyLength)
}

function endOfMethod(bytes: Buffer): number {
  let at = 0
  while (at <= LONGEST_METHOD && bytes[at] !== SPACE) at++
  return at
}

/** Where the space stands behind a path that has only visible characters of ASCII. */
function endOfUrl(bytes: Buffer, start: number): number {
  if (bytes[start] !== SLASH) return -1
  let at = start
  let code = SLASH
  while (code > SPACE && code <= TILDE) code = bytes[++at] as number
  return code === SPACE ? at : -1
}

function hasVersion(bytes: Buffer, start: number): boolean {
  for (let i = 0; i < VERSION.length; i++) if (bytes[start + i] !== VERSION[i]) return false
  return true
}

function areAt(bytes: Buffer, start: number, fields: Fields | undefined): boolean {
  const known = fields?.bytes
  if (known === undefined) return false
  const end = start + known.length
  return end <= bytes.length && known.compare(bytes, start, end) === 0
}

function readFields(bytes: Buffer, start: number): Fields | undefined {
  // Where there are none, the end of the first line is the first half of it.
  const blank = bytes.indexOf(BLANK_LINE, start - 2)
  if (blank < 0) return undefined
  const rawHeaders: string[] = []
  // With the end of the last line.
  const headers = readHeaders(bytes.toString("latin1", start, blank + 2), rawHeaders)
  if (headers?.host === undefined) return undefined
  const bodyLength = lengthOf(headers["content-length"])
  if (bodyLength < 0 || bodyLength > MOST_BODY_BYTES) return undefined
  const length = blank + 4 - start
  const kept = length > MOST_KNOWN_BYTES ? undefined : Buffer.from(bytes.subarray(start, start + length))
  return { headers, rawHeaders, bodyLength, length, bytes: kept }
}

/** By lower-case name. Undefined when one is not plain, malformed, or there twice. */
function readHeaders(text: string, rawHeaders: string[]): IncomingHttpHeaders | undefined {
  const headers: IncomingHttpHeaders = {}
  let at = 0
  while (at < text.length) {
    const nameStart = at
    while (tokenBytes[text.charCodeAt(at)] === 1) at++
    if (at === nameStart || text.charCodeAt(at) !== COLON) return undefined
    const name = text.slice(nameStart, at)
    let code = text.charCodeAt(++at)
    while (code === SPACE || code === TAB) code = text.charCodeAt(++at)
    const valueStart = at
    while ((code >= SPACE && code <= TILDE) || code === TAB) code = text.charCodeAt(++at)
    if (code !== CR || text.charCodeAt(at + 1) !== LF) return undefined
    const value = trimmedEnd(text, valueStart, at)
    const key = lowerCase(name)
    // `node:http` takes some blanks behind a length and refuses others: it is to say which.
    if (key === "content-length" && valueStart + value.length < at) return undefined
    at += 2
    // What it means to come twice differs from header to header, and `node:http` knows.
    if (headers[key] !== undefined || rawHeaders.length === MOST_HEADERS * 2 || !isPlain(key, value))
      return undefined
    headers[key] = value
    rawHeaders.push(name, value)
  }
  return headers
}

function isPlain(key: string, value: string): boolean {
  if (key === "connection") return value === "keep-alive" || value.toLowerCase() === "keep-alive"
  return !NOT_PLAIN.has(key)
}

function trimmedEnd(text: string, start: number, end: number): string {
  let last = end
  while (last > start && (text.charCodeAt(last - 1) === SPACE || text.charCodeAt(last - 1) === TAB)) last--
  return text.slice(start, last)
}

/** Digits only, and not many; -1 for anything else. */
function lengthOf(value: string | undefined): number {
  if (value === undefined) return 0
  if (value === "" || value.length > 7) return -1
  let length = 0
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i)
    if (code < ZERO || code > NINE) return -1
    length = length * 10 + (code - ZERO)
  }
  return length
}

/** Clients send the same few names over and over, but may invent as many as they like. */
const MOST_REMEMBERED = 1_000
const remembered = new Map<string, string>()

function lowerCase(name: string): string {
  const known = remembered.get(name)
  if (known !== undefined) return known
  const key = name.toLowerCase()
  if (remembered.size < MOST_REMEMBERED) remembered.set(name, key)
  return key
}
