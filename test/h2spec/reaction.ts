// What a server sends on a connection, as text that does not depend on how TCP splits it.

import { ERROR_CODE, FLAG, FRAME } from "../../packages/server/src/http2/frame.js"
import type { Frame, RawClient } from "../../packages/server/src/http2/raw-client.test-support.js"

/** Sent last, to see that the server has sent everything. */
export const LAST_PING: Buffer = Buffer.from("the end!")

const TYPES: readonly string[] = Object.keys(FRAME)
const CODES = new Map<number, string>(Object.entries(ERROR_CODE).map(([name, code]) => [code, name]))

/** How much has come: frames other than DATA, and bytes of DATA, which may come in any number of frames. */
export function received(client: RawClient): { readonly frames: number; readonly data: number } {
  const data = client.of(FRAME.DATA)
  return {
    frames: client.frames.length - data.length,
    data: data.reduce((sum, { payload }) => sum + payload.length, 0),
  }
}

export function isLastPong({ type, payload }: Frame): boolean {
  return type === FRAME.PING && payload.equals(LAST_PING)
}

/** A line for each stream with its end, because the frames of two streams may come in either order. */
export function reactionOf(client: RawClient, end: string): string[] {
  const streams = new Map<number, string[]>()
  let dataBefore: { words: string[]; bytes: number } | undefined
  for (const frame of client.frames) {
    if (isLastPong(frame)) continue
    const words = streams.get(frame.id) ?? []
    streams.set(frame.id, words)
    if (frame.type === FRAME.DATA) {
      const isMore = dataBefore?.words === words
      const bytes = frame.payload.length + (isMore ? (dataBefore?.bytes ?? 0) : 0)
      if (isMore) words.pop()
      words.push(`DATA ${bytes}${endOf(frame)}`)
      dataBefore = { words, bytes }
    } else {
      if (dataBefore?.words === words) dataBefore = undefined
      words.push(wordsFor(frame, client))
    }
  }
  return [...linesOf(streams), end]
}

/** Consecutive streams with the same frames share one line. */
function linesOf(streams: ReadonlyMap<number, readonly string[]>): string[] {
  const groups: { first: number; last: number; words: string }[] = []
  for (const [id, said] of [...streams].sort(([a], [b]) => a - b)) {
    const words = said.join(", ")
    const before = groups.at(-1)
    if (before?.words === words && before.last === id - 2) before.last = id
    else groups.push({ first: id, last: id, words })
  }
  return groups.map(({ first, last, words }) => `${first === last ? first : `${first}-${last}`} ${words}`)
}

function wordsFor(frame: Frame, client: RawClient): string {
  const { type, flags, payload } = frame
  const name = TYPES[type] ?? `type ${type}`
  switch (type) {
    case FRAME.HEADERS:
      return `${name} ${client.headers(frame)[":status"] ?? "trailers"}${endOf(frame)}`
    case FRAME.RST_STREAM:
      return `${name} ${codeAt(payload, 0)}`
    case FRAME.GOAWAY:
      return `${name} ${payload.readUInt32BE(0)} ${codeAt(payload, 4)}`
    case FRAME.WINDOW_UPDATE:
      return `${name} ${payload.readUInt32BE(0)}`
    default: {
      const ack = (flags & FLAG.ACK) === 0 ? "" : " ACK"
      return `${name}${ack}${payload.length === 0 ? "" : ` ${payload.toString("hex")}`}`
    }
  }
}

function endOf({ flags }: Frame): string {
  return (flags & FLAG.END_STREAM) === 0 ? "" : " END_STREAM"
}

function codeAt(payload: Buffer, offset: number): string {
  const code = payload.readUInt32BE(offset)
  return CODES.get(code) ?? String(code)
}
