// Reads the calls of ShouldRateLimit from the frames of both sides of an HTTP/2 connection.

import { fileURLToPath } from "node:url"
import type { MethodDefinition } from "@grpc/grpc-js"
import { loadSync } from "@grpc/proto-loader"
import { FRAME, FRAME_HEAD, PREFACE } from "../../packages/server/src/http2/frame.js"
import { HpackDecoder } from "../../packages/server/src/http2/hpack-decoder.js"
import type { Frame } from "../../packages/server/src/http2/raw-client.test-support.js"

const SERVICE = "envoy.service.ratelimit.v3.RateLimitService"
/** The byte and the length before a message. */
const MESSAGE_HEAD = 5

const includeDirs = [fileURLToPath(new URL("../../packages/server/proto/", import.meta.url))]
const definition = loadSync("envoy/service/ratelimit/v3/rls.proto", {
  includeDirs,
  enums: String,
  longs: String,
})
const { ShouldRateLimit: method } = definition[SERVICE] as unknown as {
  readonly ShouldRateLimit: MethodDefinition<object, object>
}

export interface Sent {
  readonly headers: readonly string[]
  readonly request: object
}

export interface Answered {
  readonly headers: readonly string[]
  readonly answer: object | null
}

/** The requests in these bytes, by stream. */
export function sentBy(bytes: Buffer): Map<number, Sent> {
  const streams = streamsOf(framesOf(bytes.subarray(PREFACE.length)))
  const calls = new Map<number, Sent>()
  for (const [id, { headers, data }] of streams)
    if (headers.includes(`:path: /${SERVICE}/ShouldRateLimit`))
      calls.set(id, { headers, request: method.requestDeserialize(data.subarray(MESSAGE_HEAD)) })
  return calls
}

/** What a server answers with these frames, by stream, with headers and trailers in one list. */
export function answeredBy(frames: readonly Frame[]): Map<number, Answered> {
  const streams = streamsOf(frames)
  return new Map(
    [...streams].map(([id, { headers, data }]) => [
      id,
      { headers, answer: data.length === 0 ? null : method.responseDeserialize(data.subarray(MESSAGE_HEAD)) },
    ]),
  )
}

function framesOf(bytes: Buffer): Frame[] {
  const frames: Frame[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + FRAME_HEAD + bytes.readUIntBE(at, 3)
    const [type, flags] = [bytes[at + 3] as number, bytes[at + 4] as number]
    frames.push({
      type,
      flags,
      id: bytes.readUInt32BE(at + 5),
      payload: bytes.subarray(at + FRAME_HEAD, end),
    })
    at = end
  }
  return frames
}

function streamsOf(frames: readonly Frame[]): Map<number, { headers: string[]; data: Buffer }> {
  const decoder = new HpackDecoder()
  const streams = new Map<number, { headers: string[]; data: Buffer }>()
  for (const { type, id, payload } of frames) {
    if (type !== FRAME.HEADERS && type !== FRAME.DATA) continue
    const stream = streams.get(id) ?? { headers: [], data: Buffer.alloc(0) }
    streams.set(id, stream)
    if (type === FRAME.DATA) stream.data = Buffer.concat([stream.data, payload])
    else
      decoder.decode(payload, 0, payload.length, {
        add: ({ name, value }) => void stream.headers.push(`${name}: ${value}`),
      })
  }
  return streams
}
