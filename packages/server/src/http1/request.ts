// The head of a request, read strictly: what two readers could read in two ways is refused.

import { type IncomingHttpHeaders, METHODS } from "node:http"
import type { Socket } from "node:net"
import { Readable } from "node:stream"
import { FIRST_LINE_ONLY } from "sluice/internal"
import type { Framing } from "./body-reader.js"
import { hasWord, InvalidMessage, readFields, readLength } from "./fields.js"

/** A body that is read while it arrives. It is destroyed if the client disconnects before the end. */
export class BodyStream extends Readable {
  /** Name, value, name, value; complete when the stream ends. */
  rawTrailers: readonly string[] = []
  readonly #resume: () => void

  /** `resume` is called whenever the reader has room for more. */
  constructor(resume: () => void) {
    super()
    this.#resume = resume
    // A client that disconnects is no error of the consumer.
    this.on("error", () => {})
  }

  override _read(): void {
    this.#resume()
  }
}

/** A request whose head is read. */
export class Http1Request {
  readonly method: string
  /** The target, as it came. */
  readonly url: string
  readonly httpVersionMajor = 1
  readonly httpVersionMinor: 0 | 1
  /** By lower-case name, as node:http gives them. */
  readonly headers: Readonly<IncomingHttpHeaders>
  /** As they came: name, value, name, value. */
  readonly rawHeaders: readonly string[]
  readonly framing: Framing
  readonly socket: Socket
  /** The whole body, where it came with the head. */
  body: Buffer | undefined = undefined
  /** The body, where it is still to be read. Undefined where there is none, or it came with the head. */
  bodyStream: BodyStream | undefined = undefined

  /**
   * Reads a head: `text` has the line ends of all its lines, one character per byte. Throws InvalidMessage, with the status
   * that refuses it, for what is not HTTP/1.x, has too many headers, or frames its body in more than one way.
   */
  constructor(text: string, maxHeaders: number, socket: Socket) {
    const lineEnd = text.indexOf("\r\n")
    const methodEnd = text.indexOf(" ")
    const urlEnd = text.indexOf(" ", methodEnd + 1)
    const method = text.slice(0, methodEnd)
    if (!KNOWN_METHODS.has(method)) throw new InvalidMessage("has an unknown method")
    if (urlEnd < 0 || urlEnd > lineEnd) throw new InvalidMessage("has no version")
    const url = text.slice(methodEnd + 1, urlEnd)
    if (!(method === "CONNECT" ? AUTHORITY : TARGET).test(url))
      throw new InvalidMessage("has a malformed target")
    this.method = method
    this.url = url
    this.httpVersionMinor = minorVersion(text.slice(urlEnd + 1, lineEnd))
    this.socket = socket
    this.rawHeaders = readFields(text, lineEnd + 2)
    if (this.rawHeaders.length > maxHeaders * 2) throw new InvalidMessage("has too many headers", 431)
    this.headers = this.#headersByName()
    this.framing = framingOf(this.headers, this.httpVersionMinor)
    if (typeof this.framing === "number" && text.includes("\t") && TAB_AFTER_LENGTH.test(text))
      throw new InvalidMessage("has a malformed content length")
  }

  get httpVersion(): "1.0" | "1.1" {
    return this.httpVersionMinor === 1 ? "1.1" : "1.0"
  }

  /** Whether the client keeps the connection for another request. */
  get keepsAlive(): boolean {
    return this.httpVersionMinor === 1 ? !this.#hasConnection("close") : this.#hasConnection("keep-alive")
  }

  /** Whether the client waits for 100 Continue before it sends the body. HTTP/1.0 knows no interim answers. */
  get expectsContinue(): boolean {
    return this.httpVersionMinor === 1 && this.headers.expect?.toLowerCase() === "100-continue"
  }

  /**
   * Whether the client asks to speak another protocol from here on. HTTP/2 in clear does not count: Java's client offers it of
   * its own accord with ordinary requests, and it would carry requests past every rule.
   */
  get asksForUpgrade(): boolean {
    const { upgrade } = this.headers
    return upgrade !== undefined && !hasWord(upgrade.toLowerCase(), "h2c") && this.#hasConnection("upgrade")
  }

  #hasConnection(word: string): boolean {
    const { connection } = this.headers
    return connection !== undefined && hasWord(connection.toLowerCase(), word)
  }

  #headersByName(): IncomingHttpHeaders {
    const { rawHeaders } = this
    const headers: IncomingHttpHeaders = {}
    let hosts = 0
    let lengths = 0
    for (let i = 0; i < rawHeaders.length; i += 2) {
      const name = lowerCase(rawHeaders[i] as string)
      if (name === "host") hosts++
      else if (name === "content-length") lengths++
      addHeader(headers, name, rawHeaders[i + 1] as string)
    }
    if (lengths > 1) throw new InvalidMessage("has two content lengths")
    // RFC 9112, 3.2: exactly one. HTTP/1.0 need not name one.
    if (hosts > 1 || (hosts === 0 && this.httpVersionMinor === 1))
      throw new InvalidMessage("has not exactly one host")
    return headers
  }
}

const KNOWN_METHODS: ReadonlySet<string> = new Set(METHODS)
/** A path, `*`, or a whole URL; visible characters of ASCII only. */
const TARGET =
  /^(?:\/[!-~]*|\*|[A-Za-z]+:\/\/(?=.)[\w.!~*'()%;:&=+$,[\]-]*(?:@[\w.!~*'()%;:&=+$,[\]-]*)?(?:[/?][!-~]*)?)$/
const AUTHORITY = /^[!-.0-~]+$/

function minorVersion(version: string): 0 | 1 {
  if (version === "HTTP/1.1") return 1
  if (version === "HTTP/1.0") return 0
  throw new InvalidMessage("has an unknown version of HTTP")
}

/** node:http refuses this one blank, and only after a Content-Length. */
const TAB_AFTER_LENGTH = /\ncontent-length:[^\r]*\t *\r/i

function framingOf(headers: IncomingHttpHeaders, minorVersion: number): Framing {
  const length = headers["content-length"]
  const encoding = headers["transfer-encoding"]
  if (encoding === undefined) return length === undefined ? "none" : readLength(length)
  if (length !== undefined) throw new InvalidMessage("has both a content length and a transfer encoding")
  if (minorVersion === 0) throw new InvalidMessage("has a transfer encoding in HTTP/1.0")
  if (encoding.toLowerCase() !== "chunked")
    throw new InvalidMessage("has a transfer encoding other than chunked", 501)
  return "chunked"
}

/** As node:http does it, so that rules see the same headers behind any server. */
function addHeader(headers: IncomingHttpHeaders, name: string, value: string): void {
  const before = headers[name]
  if (name === "set-cookie") {
    if (Array.isArray(before)) before.push(value)
    else headers[name] = [value]
  } else if (typeof before !== "string") headers[name] = value
  else if (name === "cookie") headers[name] = `${before}; ${value}`
  else if (!FIRST_LINE_ONLY.has(name)) headers[name] = `${before}, ${value}`
}

/** Clients send the same few names over and over, but may invent as many as they like. */
const MAX_REMEMBERED = 1_000
const remembered = new Map<string, string>()

function lowerCase(name: string): string {
  const known = remembered.get(name)
  if (known !== undefined) return known
  const lower = name.toLowerCase()
  if (remembered.size < MAX_REMEMBERED) remembered.set(name, lower)
  return lower
}
