// A client's connection as `node:http` sees it: one request at a time. `node:http` starts every request that is in what it has
// read, so a client that sends thousands ahead would have thousands under way, and what stands behind a refused request would
// be started before the refusal is written. This stream stands between the two. It gives `node:http` the bytes of one request,
// and those of the next only when the answer is out.

import type { IncomingMessage, ServerResponse } from "node:http"
import type { Server, Socket } from "node:net"
import { Duplex } from "node:stream"
import { divert } from "./divert.js"

/** How much a client may send ahead, while an answer is under way, before its socket is paused. */
const MAX_AHEAD_BYTES = 65_536
/** What is written at once. */
const MAX_PIECE_BYTES = 65_536
const HEAD_END = "\r\n\r\n"
const CR = 0x0d
const LF = 0x0a

/** Puts a SerialSocket between each connection and its server. Returns how to give the server another one by hand. */
export function serveSerially(server: Server): (socket: Socket) => void {
  let serve: (socket: Socket) => void = () => undefined
  divert(server, (socket, toHttp) => {
    serve = (raw) => toHttp(new SerialSocket(raw) as unknown as Socket)
    serve(socket)
  })
  return (socket) => serve(socket)
}

/** To be called by whoever hears of a request: its connection gives no other one before this is answered. */
export function beginRequest(request: IncomingMessage, response: ServerResponse): void {
  const socket: unknown = request.socket
  if (socket instanceof SerialSocket) socket.begin(request, response)
}

export class SerialSocket extends Duplex {
  readonly raw: Socket
  /** For those who ask by `in` whether a connection is. */
  declare readonly encrypted?: true
  /** What has come and was not given to `node:http`. */
  #rest: Buffer | undefined
  /** The request that is being read. */
  #request: IncomingMessage | undefined
  /** What is left of its body, where it has a length. */
  #bodyLeft = 0
  #response: ServerResponse | undefined
  /** Whether nothing of a head was given. */
  #isBetween = true
  /** The last bytes that were given of a head or a chunked body: its end may lie across two reads. */
  #tail = ""
  /** Whether a head was refused: nothing behind it is read. */
  #isRefused = false
  #isDetached = false
  /** Whether it was asked for bytes at all: what is given before that is kept, and not read at once. */
  #isAsked = false
  #isFeeding = false
  #hasEnded = false
  #timer: NodeJS.Timeout | undefined

  constructor(raw: Socket) {
    super({
      allowHalfOpen: true,
      decodeStrings: false,
      writableHighWaterMark: raw.writableHighWaterMark,
    })
    this.raw = raw
    if ("encrypted" in raw) this.encrypted = true
    raw.on("data", this.#onData).on("end", this.#onEnd).on("error", this.#onError).on("close", this.#onClose)
    this.on("resume", this.feed)
  }

  /** The answer that is under way, if one is. */
  get response(): ServerResponse | undefined {
    return this.#response
  }

  begin(request: IncomingMessage, response: ServerResponse): void {
    const { headers } = request
    const length = headers["content-length"]
    this.#request = request
    this.#response = response
    this.#bodyLeft = headers["transfer-encoding"] === undefined && length !== undefined ? Number(length) : 0
    response.once("close", this.#onAnswered)
  }

  /** Gives the connection away, with what has come of it: it speaks another protocol from now on, or begins anew. */
  detach(): { readonly socket: Socket; readonly rest: Buffer } {
    const { raw } = this
    const rest = this.#rest ?? Buffer.alloc(0)
    this.readNoMore()
    this.#isDetached = true
    clearTimeout(this.#timer)
    raw
      .off("data", this.#onData)
      .off("end", this.#onEnd)
      .off("error", this.#onError)
      .off("close", this.#onClose)
    if (raw.isPaused()) raw.resume()
    return { socket: raw, rest }
  }

  /** Nothing that comes from now on is read. */
  readNoMore(): void {
    this.#isRefused = true
    this.#rest = undefined
  }

  override _read(): void {
    this.#isAsked = true
    // Not at once: what is given in here would reach `node:http` only after the next call.
    if (this.#rest !== undefined || this.#hasEnded) process.nextTick(this.feed)
  }

  override _write(
    chunk: Buffer | string,
    encoding: BufferEncoding,
    done: (error?: Error | null) => void,
  ): void {
    if (chunk.length <= MAX_PIECE_BYTES) this.raw.write(chunk, encoding, done)
    else this.#writePieces(typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk, done)
  }

  override _writev(
    pieces: { chunk: Buffer | string; encoding: BufferEncoding }[],
    done: (error?: Error | null) => void,
  ): void {
    const { raw } = this
    const last = pieces.length - 1
    if (this.writableLength > MAX_PIECE_BYTES) {
      const bytes = pieces.map(({ chunk, encoding }) =>
        typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk,
      )
      this.#writePieces(Buffer.concat(bytes), done)
      return
    }
    raw.cork()
    pieces.forEach(({ chunk, encoding }, i) => {
      if (i === last) raw.write(chunk, encoding, done)
      else raw.write(chunk, encoding)
    })
    raw.uncork()
  }

  /** One after the other, so that it shows whether the client receives them. */
  #writePieces(bytes: Buffer, done: (error?: Error | null) => void): void {
    const isLast = bytes.length <= MAX_PIECE_BYTES
    this.raw.write(bytes.subarray(0, MAX_PIECE_BYTES), (error) => {
      if (error || isLast) done(error)
      else this.#writePieces(bytes.subarray(MAX_PIECE_BYTES), done)
    })
  }

  override _final(done: () => void): void {
    this.raw.end(done)
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#timer)
    this.#rest = undefined
    this.raw.destroy()
    done(error)
  }

  /** What `node:http` calls when the last answer is written. */
  destroySoon(): void {
    this.#isRefused = true
    if (this.writable) this.end()
    if (this.writableFinished) this.destroy()
    else this.once("finish", this.destroy)
  }

  resetAndDestroy(): this {
    this.raw.resetAndDestroy()
    return this.destroy()
  }

  /** From now on, whatever comes meanwhile: `node:http` calls it again when something does. */
  setTimeout(ms: number): this {
    clearTimeout(this.#timer)
    this.#timer = ms > 0 ? setTimeout(() => this.emit("timeout"), ms).unref() : undefined
    return this
  }

  setNoDelay(isOn?: boolean): this {
    this.raw.setNoDelay(isOn)
    return this
  }

  setKeepAlive(isOn?: boolean, delayMs?: number): this {
    this.raw.setKeepAlive(isOn, delayMs)
    return this
  }

  get remoteAddress(): string | undefined {
    return this.raw.remoteAddress
  }

  get remotePort(): number | undefined {
    return this.raw.remotePort
  }

  get remoteFamily(): string | undefined {
    return this.raw.remoteFamily
  }

  get localAddress(): string | undefined {
    return this.raw.localAddress
  }

  get localPort(): number | undefined {
    return this.raw.localPort
  }

  get bytesRead(): number {
    return this.raw.bytesRead
  }

  get bytesWritten(): number {
    return this.raw.bytesWritten
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#isRefused) return
    this.#rest = this.#rest === undefined ? bytes : Buffer.concat([this.#rest, bytes])
    this.feed()
    if (this.#rest !== undefined && this.#rest.length > MAX_AHEAD_BYTES) this.raw.pause()
  }

  readonly #onEnd = (): void => {
    this.#hasEnded = true
    this.feed()
  }

  readonly #onError = (error: Error): void => void this.destroy(error)
  readonly #onClose = (): void => void this.destroy()

  readonly #onAnswered = (): void => {
    this.#response = undefined
    // Others have their turn first: what one client has sent ahead must not keep all of them waiting.
    if (this.#rest !== undefined) setImmediate(this.feed)
    else this.feed()
  }

  /** Gives `node:http` as much as it takes and may have. */
  readonly feed = (): void => {
    if (this.#isFeeding || this.#isDetached || this.destroyed) return
    this.#isFeeding = true
    let mayHaveMore = true
    // Only what is taken at once is known to have been read when `push` returns.
    while (mayHaveMore && this.#isAsked && this.readableFlowing === true && this.readableLength === 0) {
      const end = this.#next()
      mayHaveMore = end > 0
      if (mayHaveMore) this.#give(end)
    }
    this.#isFeeding = false
    if (this.#isDetached) return
    if (this.#rest === undefined && this.raw.isPaused()) this.raw.resume()
    // A client that stops sending has stopped to wait, as ever with `node:http`. What else it has sent is dropped.
    if (this.#hasEnded && (this.#rest === undefined || !mayHaveMore)) this.push(null)
  }

  /** How many bytes of what has come may be given now. */
  #next(): number {
    if (this.#isRefused) this.#rest = undefined
    if (this.#isBetween && this.#response === undefined) this.#skipLineEnds()
    const rest = this.#rest
    if (rest === undefined) return 0
    if (this.#bodyLeft > 0) return Math.min(this.#bodyLeft, rest.length)
    // The next request waits for the answer to this one.
    if (this.#request === undefined && this.#response !== undefined) return 0
    return this.#endOfHead(rest)
  }

  /** Line ends before a request mean nothing. `node:http` would take them for the beginning of one that has no deadline. */
  #skipLineEnds(): void {
    const rest = this.#rest
    if (rest === undefined) return
    let at = 0
    while (rest[at] === CR || rest[at] === LF) at++
    if (at > 0) this.#rest = at < rest.length ? rest.subarray(at) : undefined
  }

  /** Where a head ends, or the chunks of a body may, if that is here: else all that has come. */
  #endOfHead(rest: Buffer): number {
    if (this.#tail !== "") {
      const seam = this.#tail + rest.toString("latin1", 0, HEAD_END.length - 1)
      const at = seam.indexOf(HEAD_END)
      if (at >= 0) return at + HEAD_END.length - this.#tail.length
    }
    const at = rest.indexOf(HEAD_END, 0, "latin1")
    return at < 0 ? rest.length : at + HEAD_END.length
  }

  #give(end: number): void {
    const rest = this.#rest as Buffer
    const bytes = end === rest.length ? rest : rest.subarray(0, end)
    this.#rest = end === rest.length ? undefined : rest.subarray(end)
    if (this.#bodyLeft > 0) {
      this.#bodyLeft -= end
      this.push(bytes)
    } else {
      const text = this.#tail + bytes.toString("latin1", Math.max(0, bytes.length - HEAD_END.length))
      const isHeadEnd = text.endsWith(HEAD_END)
      const isHead = this.#request === undefined
      this.#tail = isHeadEnd ? "" : text.slice(1 - HEAD_END.length)
      this.#isBetween = false
      this.push(bytes)
      // Answered by `node:http` itself, or no HTTP: either way the connection is done for.
      if (isHead && isHeadEnd && this.#request === undefined) this.readNoMore()
    }
    // A body with a length ends by it, whoever reads it.
    if (this.#request?.complete === true) {
      this.#request = undefined
      this.#isBetween = true
      this.#tail = ""
    }
  }
}
