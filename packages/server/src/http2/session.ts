// What the frames of a client mean: RFC 9113, for a server that pushes nothing.

import type { HeldBytes } from "../held-bytes.js"
import { ArrivingBlock } from "./arriving-block.js"
import { ConnectionError, type ErrorCode } from "./error-code.js"
import { FloodGuard } from "./flood-guard.js"
import { FIRST_WINDOW, FLAG, FRAME, HIGHEST_STREAM, LARGEST_WINDOW, SETTING } from "./frame.js"
import { PRIORITY_BYTES, paddingOf, refuseCircle } from "./frame-parts.js"
import type { FrameWriter } from "./frame-writer.js"
import { HpackDecoder } from "./hpack-decoder.js"
import { Outgoing, type Streams } from "./outgoing.js"
import { readSettings } from "./peer-settings.js"
import { RequestHead } from "./request-head.js"
import { ResetStreams } from "./reset-streams.js"
import { type RequestReader, Stream } from "./stream.js"

/** Answers requests. What it throws ends the connection. */
export type OnRequest = (stream: Stream, head: RequestHead) => RequestReader

export interface SessionOptions {
  readonly onRequest: OnRequest
  /** Requests at once. */
  readonly maxStreams: number
  /** Of headers that are kept. A request with more is told so by who answers it. */
  readonly maxHeaderBytes: number
  /** What all connections make the server hold. */
  readonly heldBytes: HeldBytes
}

/** The connection that the frames come from. */
export interface Line {
  /** There is something to send, and nobody writes just now. */
  wantsTurn(): void
  /** The client has answered a ping, with what was in it. */
  pong(payload: Buffer): void
  cut(): void
}

/**
 * What a client may send on a connection before it is told that there is room for more. Whatever comes is read at once and
 * the room for it given back, so that nobody can use more than there is: what readers keep is bounded by itself.
 */
const WINDOW = 1_048_576

export class Session implements Streams {
  readonly outgoing: Outgoing
  readonly guard = new FloodGuard()
  readonly streams = new Map<number, Stream>()
  /** Whether a request has come since this was last set to false. */
  isActive = false
  /** Whether the client has said its settings, and so is one. */
  isKnown = false
  readonly #writer: FrameWriter
  readonly #options: SessionOptions
  readonly #line: Line
  readonly #decoder = new HpackDecoder()
  readonly #reset = new ResetStreams()
  #arriving: ArrivingBlock | undefined = undefined
  #taken = 0
  #lastStream = 0
  #isLeaving = false

  constructor(writer: FrameWriter, options: SessionOptions, line: Line) {
    this.#writer = writer
    this.#options = options
    this.#line = line
    this.outgoing = new Outgoing(writer, this, options.heldBytes)
  }

  /** Bytes of headers that are not whole. */
  get arrivingBytes(): number {
    return this.#arriving?.length ?? 0
  }

  get isLeaving(): boolean {
    return this.#isLeaving
  }

  /** What is said first. */
  greet(): void {
    const { maxStreams, maxHeaderBytes } = this.#options
    this.#writer.settings([
      [SETTING.MAX_CONCURRENT_STREAMS, maxStreams],
      [SETTING.MAX_HEADER_LIST_SIZE, maxHeaderBytes],
    ])
    this.#writer.windowUpdate(0, WINDOW - FIRST_WINDOW)
  }

  /** Tells the client to ask elsewhere. What it has asked, or asks until it has heard of this, is answered. */
  warn(): void {
    this.#writer.goAway(HIGHEST_STREAM, "NO_ERROR")
  }

  /** The last word. What was asked before is still answered, if this is no error. */
  leave(code: ErrorCode = "NO_ERROR", message?: string): void {
    this.#isLeaving = true
    this.#writer.goAway(this.#lastStream, code, message)
  }

  /** The client says nothing more. What it has asked is answered all the same, if it has asked it to the end. */
  hungUp(): void {
    for (const stream of this.streams.values()) if (!stream.clientHasEnded) this.over(stream)
    this.leave()
  }

  ping(payload: Buffer): void {
    this.#writer.ping(payload, false)
  }

  /** One frame; `start` to `end` is what is in it. */
  frame(type: number, flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    const expected = this.#arriving
    if (expected !== undefined && (type !== FRAME.CONTINUATION || id !== expected.stream))
      throw new ConnectionError("PROTOCOL_ERROR", "a header block was not ended")
    if (!this.isKnown && type !== FRAME.SETTINGS)
      throw new ConnectionError("PROTOCOL_ERROR", "settings come first")
    switch (type) {
      case FRAME.DATA:
        this.#data(flags, id, bytes, start, end)
        return
      case FRAME.HEADERS:
        this.#headers(flags, id, bytes, start, end)
        return
      case FRAME.CONTINUATION:
        this.#continuation(flags, bytes, start, end)
        return
      case FRAME.RST_STREAM:
        this.#resetByClient(id, end - start)
        return
      case FRAME.WINDOW_UPDATE:
        this.#windowUpdate(id, bytes, start, end)
        return
      case FRAME.SETTINGS:
        this.#settings(flags, id, bytes, start, end)
        return
      case FRAME.PING:
        this.#ping(flags, id, bytes, start, end)
        return
      case FRAME.PRIORITY:
        this.#priority(id, bytes, start, end)
        return
      case FRAME.GOAWAY:
        if (id !== 0) throw wrongStream("GOAWAY", id)
        this.guard.idle()
        return
      case FRAME.PUSH_PROMISE:
        throw new ConnectionError("PROTOCOL_ERROR", "clients push nothing")
      default:
        // Of a type that is not known here, and so to be ignored.
        this.guard.idle()
    }
  }

  /** Makes room for more, when what has come is read. */
  giveRoom(): void {
    if (this.#taken < WINDOW / 2) return
    this.#writer.windowUpdate(0, this.#taken)
    this.#taken = 0
  }

  over(stream: Stream): void {
    stream.isOver = true
    this.streams.delete(stream.id)
    this.outgoing.forget(stream)
    if (stream.serverHasEnded) this.guard.answered()
    stream.reader?.closed()
  }

  reset(stream: Stream, code: ErrorCode): void {
    this.#writer.resetStream(stream.id, code)
    this.#reset.add(stream.id)
    this.over(stream)
  }

  /** The connection is gone, and all that was under way on it. */
  closed(): void {
    for (const stream of this.streams.values()) this.over(stream)
    this.#arriving = undefined
    this.outgoing.carry(0)
  }

  wantsTurn(): void {
    this.#line.wantsTurn()
  }

  overflow(): void {
    this.#line.cut()
  }

  #data(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    const size = end - start
    this.#taken += size
    const isLast = (flags & FLAG.END_STREAM) !== 0
    if ((flags & FLAG.PADDED) !== 0) {
      end -= paddingOf(bytes, start, end)
      start++
    }
    if (start === end && !isLast) this.guard.idle()
    const stream = this.streams.get(id)
    if (stream === undefined) {
      this.#closedOnly("DATA", id)
      if (!this.#reset.has(id)) this.#refuse(id, "STREAM_CLOSED")
      return
    }
    stream.taken += size
    stream.received += end - start
    if (stream.clientHasEnded) this.#fail(stream, "STREAM_CLOSED")
    else if (stream.contentLength !== undefined && stream.received > stream.contentLength)
      this.#fail(stream, "PROTOCOL_ERROR")
    else if (!isLast) {
      if (end > start) stream.reader?.data(bytes.subarray(start, end))
      if (!stream.isOver && stream.taken > FIRST_WINDOW / 2) this.#giveBack(stream)
    } else if (this.#ends(stream)) {
      // It knows that this is the last when it reads it, and can be over with its answer.
      if (end > start) stream.reader?.data(bytes.subarray(start, end))
      this.#ended(stream)
    }
  }

  #headers(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if ((id & 1) === 0) throw wrongStream("HEADERS", id)
    if ((flags & FLAG.PADDED) !== 0) {
      end -= paddingOf(bytes, start, end)
      start++
    }
    if ((flags & FLAG.PRIORITY) !== 0) {
      if (end - start < PRIORITY_BYTES)
        throw new ConnectionError("FRAME_SIZE_ERROR", "HEADERS end inside of their priority")
      refuseCircle(id, bytes, start)
      start += PRIORITY_BYTES
    }
    const endsStream = (flags & FLAG.END_STREAM) !== 0
    if ((flags & FLAG.END_HEADERS) !== 0) {
      this.#block(id, endsStream, bytes, start, end)
      return
    }
    this.#arriving = new ArrivingBlock(id, endsStream)
    this.#arriving.push(bytes.subarray(start, end))
  }

  #continuation(flags: number, bytes: Buffer, start: number, end: number): void {
    const arriving = this.#arriving
    if (arriving === undefined) throw new ConnectionError("PROTOCOL_ERROR", "CONTINUATION of nothing")
    arriving.push(bytes.subarray(start, end))
    if ((flags & FLAG.END_HEADERS) === 0) return
    this.#arriving = undefined
    const block = arriving.whole()
    this.#block(arriving.stream, arriving.endsStream, block, 0, block.length)
  }

  /** The headers of a new request, or those behind its body. Whatever they are, they have to be decoded. */
  #block(id: number, endsStream: boolean, bytes: Buffer, start: number, end: number): void {
    const head = new RequestHead(this.#options.maxHeaderBytes)
    this.#decoder.decode(bytes, start, end, head)
    const stream = this.streams.get(id)
    if (stream !== undefined) {
      if (stream.clientHasEnded) this.#fail(stream, "STREAM_CLOSED")
      else if (!endsStream || !head.isTrailers) this.#fail(stream, "PROTOCOL_ERROR")
      else if (this.#ends(stream)) this.#ended(stream)
    } else if (id <= this.#lastStream) {
      if (!this.#reset.has(id))
        throw new ConnectionError("STREAM_CLOSED", "HEADERS on a stream that has ended")
    } else this.#request(id, head, endsStream)
  }

  #request(id: number, head: RequestHead, endsStream: boolean): void {
    this.#lastStream = id
    if (!head.isRequest) this.#refuse(id, "PROTOCOL_ERROR")
    else if (this.#isLeaving || this.streams.size >= this.#options.maxStreams)
      this.#refuse(id, "REFUSED_STREAM")
    else {
      const stream = new Stream(id, this.outgoing, head.contentLength)
      this.streams.set(id, stream)
      this.isActive = true
      if (endsStream && !this.#ends(stream)) return
      stream.reader = this.#options.onRequest(stream, head)
      if (stream.isOver) stream.reader.closed()
      else if (endsStream) this.#ended(stream)
    }
  }

  /** The client says that this is all. False if it is not what it has announced. */
  #ends(stream: Stream): boolean {
    stream.clientHasEnded = stream.contentLength === undefined || stream.contentLength === stream.received
    if (!stream.clientHasEnded) this.#fail(stream, "PROTOCOL_ERROR")
    return stream.clientHasEnded
  }

  /** All that the client has said is read. */
  #ended(stream: Stream): void {
    this.guard.call()
    if (stream.isOver) return
    if (stream.serverHasEnded) this.over(stream)
    else stream.reader?.ended()
  }

  #resetByClient(id: number, length: number): void {
    if (length !== 4) throw new ConnectionError("FRAME_SIZE_ERROR", "RST_STREAM has four bytes")
    const stream = this.streams.get(id)
    if (stream === undefined) {
      this.#closedOnly("RST_STREAM", id)
      this.guard.idle()
      return
    }
    this.guard.reset()
    this.over(stream)
  }

  #windowUpdate(id: number, bytes: Buffer, start: number, end: number): void {
    if (end - start !== 4) throw new ConnectionError("FRAME_SIZE_ERROR", "WINDOW_UPDATE has four bytes")
    this.guard.idle()
    const increment = bytes.readUInt32BE(start) & LARGEST_WINDOW
    const stream = this.streams.get(id)
    if (id === 0) {
      if (increment === 0) throw new ConnectionError("PROTOCOL_ERROR", "a window grows by nothing")
      this.outgoing.widen(increment)
    } else if (stream === undefined) this.#closedOnly("WINDOW_UPDATE", id)
    else if (increment === 0) this.#fail(stream, "PROTOCOL_ERROR")
    else {
      stream.sendWindow += increment
      if (stream.sendWindow > LARGEST_WINDOW) this.#fail(stream, "FLOW_CONTROL_ERROR")
    }
  }

  #settings(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (id !== 0) throw wrongStream("SETTINGS", id)
    this.guard.idle()
    if ((flags & FLAG.ACK) !== 0) {
      if (end > start) throw new ConnectionError("FRAME_SIZE_ERROR", "an ACK of settings has none")
      if (!this.isKnown) throw new ConnectionError("PROTOCOL_ERROR", "settings come first")
      return
    }
    const { tableSize, firstWindow } = readSettings(bytes, start, end)
    this.isKnown = true
    if (tableSize !== undefined) this.outgoing.resizeTable(tableSize)
    if (firstWindow !== undefined) this.#resizeWindows(firstWindow)
    this.#writer.settingsAck()
  }

  #resizeWindows(firstWindow: number): void {
    const change = firstWindow - this.outgoing.firstWindow
    this.outgoing.firstWindow = firstWindow
    for (const stream of this.streams.values()) {
      stream.sendWindow += change
      if (stream.sendWindow > LARGEST_WINDOW)
        throw new ConnectionError("FLOW_CONTROL_ERROR", "the window of a stream is too large")
    }
  }

  #ping(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (id !== 0) throw wrongStream("PING", id)
    if (end - start !== 8) throw new ConnectionError("FRAME_SIZE_ERROR", "PING has eight bytes")
    this.guard.idle()
    const payload = bytes.subarray(start, end)
    if ((flags & FLAG.ACK) === 0) this.#writer.ping(payload, true)
    else this.#line.pong(payload)
  }

  /** Said to be of no use, and not used: RFC 9113, section 5.3. */
  #priority(id: number, bytes: Buffer, start: number, end: number): void {
    if (id === 0) throw wrongStream("PRIORITY", id)
    if (end - start !== PRIORITY_BYTES)
      throw new ConnectionError("FRAME_SIZE_ERROR", "PRIORITY has five bytes")
    refuseCircle(id, bytes, start)
    this.guard.idle()
  }

  /** For frames that may still come on a stream that is over, but on none that has never been. */
  #closedOnly(frame: string, id: number): void {
    if (id > this.#lastStream || (id & 1) === 0) throw wrongStream(frame, id)
  }

  /** Ends a stream for what the client has done on it. */
  #fail(stream: Stream, code: ErrorCode): void {
    this.guard.reset()
    this.reset(stream, code)
  }

  /** The same for one that is not there. */
  #refuse(id: number, code: ErrorCode): void {
    this.guard.reset()
    this.#writer.resetStream(id, code)
    this.#reset.add(id)
  }

  #giveBack(stream: Stream): void {
    this.#writer.windowUpdate(stream.id, stream.taken)
    stream.taken = 0
  }
}

function wrongStream(frame: string, id: number): ConnectionError {
  return new ConnectionError("PROTOCOL_ERROR", `${frame} on stream ${id}`)
}
