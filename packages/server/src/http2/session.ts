// The frames of one client and what they mean (RFC 9113), for a server that never pushes.

import type { HeldBytes } from "../held-bytes.js"
import { FloodGuard } from "./flood-guard.js"
import {
  ConnectionError,
  checkPriority,
  type ErrorCode,
  FIRST_WINDOW,
  FLAG,
  FRAME,
  MAX_STREAM_ID,
  MAX_WINDOW,
  PRIORITY_BYTES,
  paddingOf,
  readSettings,
  SETTING,
} from "./frame.js"
import type { FrameWriter } from "./frame-writer.js"
import { ArrivingBlock } from "./header-block.js"
import { HpackDecoder } from "./hpack-decoder.js"
import { Outgoing, type Streams } from "./outgoing.js"
import { RequestHead } from "./request-head.js"
import { type RequestReader, ResetStreams, Stream } from "./stream.js"

/** Handles a request. If it throws, the connection ends. */
export type OnRequest = (stream: Stream, head: RequestHead) => RequestReader

export interface SessionOptions {
  readonly onRequest: OnRequest
  /** The most concurrent requests. */
  readonly maxStreams: number
  /** The most bytes of headers that are kept. `RequestHead.isTooLarge` says that a request had more. */
  readonly maxHeaderBytes: number
  /** Counts what all connections hold. */
  readonly heldBytes: HeldBytes
}

/** The connection as its session sees it. */
export interface SessionConnection {
  /** There is something to send, and the connection is not in a turn. */
  wantsTurn(): void
  /** The client has answered a ping with this payload. */
  pong(payload: Buffer): void
  cut(): void
}

/**
 * The receive window of a connection. The server reads everything at once and opens the window again, because what it keeps is
 * bounded separately.
 */
const WINDOW = 1_048_576

export class Session implements Streams {
  readonly outgoing: Outgoing
  readonly guard = new FloodGuard()
  readonly streams = new Map<number, Stream>()
  /** Set when a request arrives; the connection clears it. */
  isActive = false
  /** Whether the client has sent its SETTINGS. */
  isKnown = false
  /** Whether the last GOAWAY was sent. */
  isLeaving = false
  readonly #writer: FrameWriter
  readonly #options: SessionOptions
  readonly #connection: SessionConnection
  readonly #decoder = new HpackDecoder()
  readonly #reset = new ResetStreams()
  #arriving: ArrivingBlock | undefined = undefined
  #taken = 0
  #lastStream = 0

  constructor(writer: FrameWriter, options: SessionOptions, connection: SessionConnection) {
    this.#writer = writer
    this.#options = options
    this.#connection = connection
    this.outgoing = new Outgoing(writer, this, options.heldBytes)
  }

  /** Bytes of a header block that has not arrived completely. */
  get arrivingBytes(): number {
    return this.#arriving?.length ?? 0
  }

  /** Sends the settings of the server. */
  greet(): void {
    const { maxStreams, maxHeaderBytes } = this.#options
    this.#writer.settings([
      [SETTING.MAX_CONCURRENT_STREAMS, maxStreams],
      [SETTING.MAX_HEADER_LIST_SIZE, maxHeaderBytes],
    ])
    this.#writer.windowUpdate(0, WINDOW - FIRST_WINDOW)
  }

  /** Asks the client to use another connection. Requests that it sends until it reads this are still answered. */
  warn(): void {
    this.#writer.goAway(MAX_STREAM_ID, "NO_ERROR")
  }

  /** Sends the last GOAWAY. Earlier requests are still answered, unless this is an error. */
  leave(code: ErrorCode = "NO_ERROR", message?: string): void {
    this.isLeaving = true
    this.#writer.goAway(this.#lastStream, code, message)
  }

  /** The client has closed its side. Requests that arrived completely are still answered. */
  hungUp(): void {
    for (const stream of this.streams.values()) if (!stream.clientHasEnded) this.over(stream)
    this.leave()
  }

  ping(payload: Buffer): void {
    this.#writer.ping(payload, false)
  }

  /** Handles one frame. Its payload is `bytes` from `start` to `end`. */
  frame(type: number, flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    const expected = this.#arriving
    if (expected !== undefined && (type !== FRAME.CONTINUATION || id !== expected.stream))
      throw new ConnectionError("PROTOCOL_ERROR", "another frame interrupts a header block")
    if (!this.isKnown && type !== FRAME.SETTINGS)
      throw new ConnectionError("PROTOCOL_ERROR", "the first frame must be SETTINGS")
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
        throw new ConnectionError("PROTOCOL_ERROR", "clients must not send PUSH_PROMISE")
      default:
        // Frames of unknown types are ignored (RFC 9113, section 4.1).
        this.guard.idle()
    }
  }

  /** Opens the receive window again once half of it is used. */
  openWindow(): void {
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

  /** The connection is gone, and all its streams with it. */
  closed(): void {
    for (const stream of this.streams.values()) this.over(stream)
    this.#arriving = undefined
    this.outgoing.carry(0)
  }

  wantsTurn(): void {
    this.#connection.wantsTurn()
  }

  overflow(): void {
    this.#connection.cut()
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
      if (!stream.isOver && stream.taken > FIRST_WINDOW / 2) {
        this.#writer.windowUpdate(id, stream.taken)
        stream.taken = 0
      }
    } else if (this.#ends(stream)) {
      // `clientHasEnded` is set before, so that the reader can answer with the last bytes.
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
        throw new ConnectionError("FRAME_SIZE_ERROR", "a HEADERS frame ends inside its priority")
      checkPriority(id, bytes, start)
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
    if (arriving === undefined) throw new ConnectionError("PROTOCOL_ERROR", "CONTINUATION without HEADERS")
    arriving.push(bytes.subarray(start, end))
    if ((flags & FLAG.END_HEADERS) === 0) return
    this.#arriving = undefined
    const block = arriving.whole()
    this.#block(arriving.stream, arriving.endsStream, block, 0, block.length)
  }

  /** Handles the headers of a new request, or trailers. Every block must be decoded, because it may change the table. */
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
    else if (this.isLeaving || this.streams.size >= this.#options.maxStreams)
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

  /** The client ends the request. False if the body does not have the announced length. */
  #ends(stream: Stream): boolean {
    stream.clientHasEnded = stream.contentLength === undefined || stream.contentLength === stream.received
    if (!stream.clientHasEnded) this.#fail(stream, "PROTOCOL_ERROR")
    return stream.clientHasEnded
  }

  /** The whole request is read. */
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
    const increment = bytes.readUInt32BE(start) & MAX_WINDOW
    const stream = this.streams.get(id)
    if (id === 0) {
      if (increment === 0) throw new ConnectionError("PROTOCOL_ERROR", "WINDOW_UPDATE of 0")
      this.outgoing.widen(increment)
    } else if (stream === undefined) this.#closedOnly("WINDOW_UPDATE", id)
    else if (increment === 0) this.#fail(stream, "PROTOCOL_ERROR")
    else {
      stream.sendWindow += increment
      if (stream.sendWindow > MAX_WINDOW) this.#fail(stream, "FLOW_CONTROL_ERROR")
    }
  }

  #settings(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (id !== 0) throw wrongStream("SETTINGS", id)
    this.guard.idle()
    if ((flags & FLAG.ACK) !== 0) {
      if (end > start) throw new ConnectionError("FRAME_SIZE_ERROR", "a SETTINGS ACK must be empty")
      if (!this.isKnown) throw new ConnectionError("PROTOCOL_ERROR", "the first frame must be SETTINGS")
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
      if (stream.sendWindow > MAX_WINDOW)
        throw new ConnectionError("FLOW_CONTROL_ERROR", "the window of a stream exceeds 2^31 - 1")
    }
  }

  #ping(flags: number, id: number, bytes: Buffer, start: number, end: number): void {
    if (id !== 0) throw wrongStream("PING", id)
    if (end - start !== 8) throw new ConnectionError("FRAME_SIZE_ERROR", "PING has eight bytes")
    this.guard.idle()
    const payload = bytes.subarray(start, end)
    if ((flags & FLAG.ACK) === 0) this.#writer.ping(payload, true)
    else this.#connection.pong(payload)
  }

  /** Priorities are deprecated (RFC 9113, section 5.3). The frame is checked and ignored. */
  #priority(id: number, bytes: Buffer, start: number, end: number): void {
    if (id === 0) throw wrongStream("PRIORITY", id)
    if (end - start !== PRIORITY_BYTES)
      throw new ConnectionError("FRAME_SIZE_ERROR", "PRIORITY has five bytes")
    checkPriority(id, bytes, start)
    this.guard.idle()
  }

  /** Throws unless the stream existed: late frames may arrive on a closed stream, but not on one that was never open. */
  #closedOnly(frame: string, id: number): void {
    if (id > this.#lastStream || (id & 1) === 0) throw wrongStream(frame, id)
  }

  /** Resets a stream because of a mistake of the client. */
  #fail(stream: Stream, code: ErrorCode): void {
    this.guard.reset()
    this.reset(stream, code)
  }

  /** Resets a stream that is not open. */
  #refuse(id: number, code: ErrorCode): void {
    this.guard.reset()
    this.#writer.resetStream(id, code)
    this.#reset.add(id)
  }
}

function wrongStream(frame: string, id: number): ConnectionError {
  return new ConnectionError("PROTOCOL_ERROR", `${frame} on stream ${id}`)
}
