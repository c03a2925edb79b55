import type { Socket } from "node:net"

const FIRST_BYTES = 16_384
/** A larger buffer, grown for one long output, is not kept. */
const MAX_KEPT = 131_072

/** A buffer that grows while something is written into it. */
export class ByteWriter {
  /** Bytes written so far. */
  length = 0
  protected buffer: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)

  /** The bytes written from `start` on, valid until the next write. */
  written(start = 0): Buffer {
    return this.buffer.subarray(start, this.length)
  }

  /** Empties the writer. With `inUse`, somebody still reads the bytes, so a new buffer takes their place. */
  clear(inUse = false): void {
    this.length = 0
    if (inUse || this.buffer.length > MAX_KEPT) this.buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  }

  /** Sends everything with one write, and empties the writer. Drops the bytes if the socket has ended. */
  flush(socket: Socket): void {
    if (this.length === 0) return
    if (socket.writableEnded || socket.destroyed) {
      this.clear()
    } else if (socket.writableLength > 0) {
      socket.write(Buffer.from(this.written()))
      this.clear()
    } else {
      socket.write(this.written())
      // Nearly always the kernel has accepted all bytes by now, and the buffer can be reused.
      this.clear(socket.writableLength > 0)
    }
  }

  /** Makes room for this many bytes. */
  protected room(count: number): void {
    const needed = this.length + count
    if (needed <= this.buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.buffer.length * 2))
    this.buffer.copy(larger, 0, 0, this.length)
    this.buffer = larger
  }
}
