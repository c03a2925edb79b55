// A client that says what it is told to, right or wrong, and a server for it to say it to.

import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { afterThis } from "../../../../test/support/after-this.js"
import { eventually } from "../../../../test/support/eventually.js"
import type { Listener } from "../listener.js"
import { ERROR_CODE, FLAG, FRAME, PREFACE } from "./frame.js"
import { headerBlock } from "./header-block.js"
import { HpackDecoder } from "./hpack-decoder.js"
import { type Http2Options, startHttp2 } from "./server.js"
import type { RequestReader, Stream } from "./stream.js"

export interface Frame {
  readonly type: number
  readonly flags: number
  readonly id: number
  readonly payload: Buffer
}

export function frame(
  type: number,
  flags: number,
  id: number,
  payload: Uint8Array = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(id, 5)
  return Buffer.concat([head, payload])
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export function settings(...pairs: readonly (readonly [number, number])[]): Buffer {
  const payload = pairs.map(([setting, value]) => Buffer.concat([Buffer.of(0, setting), uint32(value)]))
  return frame(FRAME.SETTINGS, 0, 0, Buffer.concat(payload))
}

export function windowUpdate(id: number, increment: number): Buffer {
  return frame(FRAME.WINDOW_UPDATE, 0, id, uint32(increment))
}

export function blockFor(path: string, more: Readonly<Record<string, string>> = {}): Buffer {
  return headerBlock({ ":method": "POST", ":scheme": "http", ":path": path, ":authority": "test", ...more })
}

/** A request without a body, unless more is to come. */
export function request(id: number, path: string, flags: number = FLAG.END_STREAM): Buffer {
  return frame(FRAME.HEADERS, FLAG.END_HEADERS | flags, id, blockFor(path))
}

export class RawClient {
  readonly frames: Frame[] = []
  /** How many reads it took to get them. */
  reads = 0
  isClosed = false
  readonly socket: Socket
  readonly #decoder = new HpackDecoder()
  #rest = Buffer.alloc(0)

  constructor(socket: Socket) {
    this.socket = socket
    socket.on("data", (chunk: Buffer) => this.#read(chunk))
    socket.on("error", () => {})
    socket.on("close", () => {
      this.isClosed = true
    })
  }

  send(...parts: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(parts))
  }

  /** The frames of a type, of one stream if that is said. */
  of(type: number, id?: number): Frame[] {
    return this.frames.filter((found) => found.type === type && (id === undefined || found.id === id))
  }

  /** The next frame of a type that has come or comes. */
  async next(type: number, id?: number): Promise<Frame> {
    return await eventually(() => this.of(type, id)[0], { what: `a frame of type ${type}` })
  }

  /** The code that the server goes away with. */
  async goAway(): Promise<string> {
    const { payload } = await this.next(FRAME.GOAWAY)
    await eventually(() => this.isClosed)
    return codeOf(payload.readUInt32BE(4))
  }

  /** The code that a stream is reset with. */
  async reset(id: number): Promise<string> {
    return codeOf((await this.next(FRAME.RST_STREAM, id)).payload.readUInt32BE(0))
  }

  /** All DATA of a stream, once its trailers are there. */
  async answer(id: number): Promise<string> {
    await eventually(() => this.of(FRAME.HEADERS, id).some(({ flags }) => (flags & FLAG.END_STREAM) !== 0))
    return this.body(id)
  }

  body(id: number): string {
    return Buffer.concat(this.of(FRAME.DATA, id).map(({ payload }) => payload)).toString()
  }

  /** Once all that was sent before is read. */
  async settle(): Promise<void> {
    const payload = Buffer.alloc(8)
    payload.writeDoubleBE(Math.random())
    this.send(frame(FRAME.PING, 0, 0, payload))
    await eventually(() => this.of(FRAME.PING).some((pong) => pong.payload.equals(payload)))
  }

  headers({ payload }: Frame): Record<string, string> {
    const found: Record<string, string> = {}
    const add = ({ name, value }: { name: string; value: string }): void => {
      found[name] = value
    }
    this.#decoder.decode(payload, 0, payload.length, { add })
    return found
  }

  #read(chunk: Buffer): void {
    this.reads++
    let bytes = Buffer.concat([this.#rest, chunk])
    for (;;) {
      const end = bytes.length < 9 ? Number.POSITIVE_INFINITY : 9 + bytes.readUIntBE(0, 3)
      if (bytes.length < end) break
      const [type, flags] = [bytes[3] as number, bytes[4] as number]
      this.frames.push({ type, flags, id: bytes.readUInt32BE(5), payload: bytes.subarray(9, end) })
      bytes = bytes.subarray(end)
    }
    this.#rest = bytes
  }
}

function codeOf(code: number): string {
  return Object.entries(ERROR_CODE).find(([, value]) => value === code)?.[0] ?? String(code)
}

export interface Started {
  readonly listener: Listener
  readonly errors: unknown[]
  /** Requests for /later, which are answered when somebody does. */
  readonly later: Stream[]
  /** How many requests have been seen to their end, whoever ended them. */
  readonly closed: { count: number }
}

const HEADERS = headerBlock({ ":status": "200" })
const TRAILERS = headerBlock({ "x-end": "yes" })

export function answer(stream: Stream, body: string): void {
  stream.answer(HEADERS, Buffer.from(body), TRAILERS)
}

/** `/echo` answers what it is sent, `/large/123` so many bytes, `/later` when somebody does, `/broken` never. */
export async function start(options: Partial<Http2Options> = {}): Promise<Started> {
  const errors: unknown[] = []
  const later: Stream[] = []
  const closed = { count: 0 }
  const listener = await startHttp2({
    host: "127.0.0.1",
    port: 0,
    onError: (error) => errors.push(error),
    onRequest(stream, { path }): RequestReader {
      const body: Buffer[] = []
      if (path === "/broken") throw new Error("broken")
      if (path === "/later") later.push(stream)
      return {
        data: (bytes) => body.push(Buffer.from(bytes)),
        ended() {
          const [, size] = /^\/large\/(\d+)$/.exec(path) ?? []
          if (path === "/echo") answer(stream, Buffer.concat(body).toString())
          else if (size !== undefined) answer(stream, "x".repeat(Number(size)))
        },
        closed: () => closed.count++,
        look() {},
      }
    },
    ...options,
  })
  afterThis(() => listener.close(0))
  return { listener, errors, later, closed }
}

/** A client that has said hello, unless it is to say nothing. */
export async function dial({ listener }: Started, greeting = settings()): Promise<RawClient> {
  const client = await dialSilently(listener)
  client.send(PREFACE, greeting)
  await client.next(FRAME.SETTINGS)
  return client
}

export async function dialSilently(listener: Listener): Promise<RawClient> {
  const [host, port] = listener.address.split(":")
  const socket = connect(Number(port), host)
  afterThis(() => socket.destroy())
  await once(socket, "connect")
  return new RawClient(socket)
}
