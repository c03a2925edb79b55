// Writes frames one after the other into a single buffer, so that a turn of a connection is one write to its socket.

import { ByteWriter } from "../byte-writer.js"
import { ERROR_CODE, type ErrorCode, FLAG, FRAME, FRAME_HEAD } from "./frame.js"

export class FrameWriter extends ByteWriter {
  /** A DATA frame with `bytes` from `start` to `end`. */
  data(stream: number, bytes: Uint8Array, start: number, end: number): void {
    this.#head(end - start, FRAME.DATA, 0, stream)
    this.#copy(bytes, start, end)
  }

  /** A HEADERS frame. The block fits into one frame here. `prefix` is a byte before it. */
  headers(stream: number, block: Uint8Array, isLast: boolean, prefix?: number): void {
    const flags = isLast ? FLAG.END_HEADERS | FLAG.END_STREAM : FLAG.END_HEADERS
    this.#head(block.length + (prefix === undefined ? 0 : 1), FRAME.HEADERS, flags, stream)
    if (prefix !== undefined) this.buffer[this.length++] = prefix
    this.#copy(block, 0, block.length)
  }

  settings(settings: readonly (readonly [number, number])[]): void {
    this.#head(settings.length * 6, FRAME.SETTINGS, 0, 0)
    for (const [setting, value] of settings) {
      this.length = this.buffer.writeUInt16BE(setting, this.length)
      this.length = this.buffer.writeUInt32BE(value, this.length)
    }
  }

  settingsAck(): void {
    this.#head(0, FRAME.SETTINGS, FLAG.ACK, 0)
  }

  ping(payload: Uint8Array, isAck: boolean): void {
    this.#head(8, FRAME.PING, isAck ? FLAG.ACK : 0, 0)
    this.#copy(payload, 0, 8)
  }

  windowUpdate(stream: number, increment: number): void {
    this.#head(4, FRAME.WINDOW_UPDATE, 0, stream)
    this.length = this.buffer.writeUInt32BE(increment, this.length)
  }

  resetStream(stream: number, code: ErrorCode): void {
    this.#head(4, FRAME.RST_STREAM, 0, stream)
    this.length = this.buffer.writeUInt32BE(ERROR_CODE[code], this.length)
  }

  goAway(lastStream: number, code: ErrorCode, message = ""): void {
    const reason = Buffer.from(message)
    this.#head(8 + reason.length, FRAME.GOAWAY, 0, 0)
    this.length = this.buffer.writeUInt32BE(lastStream, this.length)
    this.length = this.buffer.writeUInt32BE(ERROR_CODE[code], this.length)
    this.#copy(reason, 0, reason.length)
  }

  /** Writes the head of a frame and makes room for its payload. */
  #head(length: number, type: number, flags: number, stream: number): void {
    this.room(FRAME_HEAD + length)
    const bytes = this.buffer
    const at = this.length
    bytes[at] = length >>> 16
    bytes[at + 1] = length >>> 8
    bytes[at + 2] = length
    bytes[at + 3] = type
    bytes[at + 4] = flags
    bytes[at + 5] = stream >>> 24
    bytes[at + 6] = stream >>> 16
    bytes[at + 7] = stream >>> 8
    bytes[at + 8] = stream
    this.length = at + FRAME_HEAD
  }

  /** Copies short payloads byte by byte: for some dozen bytes that is faster than `set`. */
  #copy(from: Uint8Array, start: number, end: number): void {
    const bytes = this.buffer
    let to = this.length
    if (end - start > 256) bytes.set(from.subarray(start, end), to)
    else for (let at = start; at < end; at++) bytes[to++] = from[at] as number
    this.length += end - start
  }
}
