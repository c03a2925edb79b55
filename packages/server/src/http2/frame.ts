// Frames of RFC 9113, section 4: a head of nine bytes (length, type, flags, stream) and a payload.

export const FRAME_HEAD = 9
/** The largest payload that every client may send and must accept. This server never raises it. */
export const MAX_FRAME = 16_384
export const PREFACE: Buffer = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

export const FRAME = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const

export const FLAG = { ACK: 0x1, END_STREAM: 0x1, END_HEADERS: 0x4, PADDED: 0x8, PRIORITY: 0x20 } as const

export const SETTING = {
  HEADER_TABLE_SIZE: 1,
  ENABLE_PUSH: 2,
  MAX_CONCURRENT_STREAMS: 3,
  INITIAL_WINDOW_SIZE: 4,
  MAX_FRAME_SIZE: 5,
  MAX_HEADER_LIST_SIZE: 6,
} as const

/** How much may be sent on a stream or a connection before the receiver opens its window further. */
export const FIRST_WINDOW = 65_535
export const MAX_WINDOW: number = 2 ** 31 - 1
export const MAX_STREAM_ID: number = 2 ** 31 - 1

/** The error codes of RFC 9113, section 7, that this server sends. */
export const ERROR_CODE = {
  NO_ERROR: 0x0,
  PROTOCOL_ERROR: 0x1,
  INTERNAL_ERROR: 0x2,
  FLOW_CONTROL_ERROR: 0x3,
  STREAM_CLOSED: 0x5,
  FRAME_SIZE_ERROR: 0x6,
  REFUSED_STREAM: 0x7,
  CANCEL: 0x8,
  COMPRESSION_ERROR: 0x9,
  ENHANCE_YOUR_CALM: 0xb,
} as const

export type ErrorCode = keyof typeof ERROR_CODE

/** A mistake of the client that ends its connection. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError"
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string) {
    super(message)
    this.code = code
  }
}

/** The length of a priority: the stream that this one depends on, and a weight. */
export const PRIORITY_BYTES = 5

/** Reads how many bytes at the end of a padded frame are padding, from its first byte. */
export function paddingOf(bytes: Buffer, start: number, end: number): number {
  if (start === end) throw new ConnectionError("FRAME_SIZE_ERROR", "a padded frame has no padding length")
  const padding = bytes[start] as number
  if (padding >= end - start)
    throw new ConnectionError("PROTOCOL_ERROR", "the padding is longer than the frame")
  return padding
}

/** Throws if a stream depends on itself. Priorities are otherwise ignored. */
export function checkPriority(id: number, bytes: Buffer, start: number): void {
  if ((bytes.readUInt32BE(start) & MAX_STREAM_ID) === id)
    throw new ConnectionError("PROTOCOL_ERROR", "a stream depends on itself")
}

const SETTING_BYTES = 6
const MAX_FRAME_SIZE_SETTING = 2 ** 24 - 1

export interface PeerSettings {
  /** Undefined if the frame did not have it. */
  readonly tableSize?: number | undefined
  readonly firstWindow?: number | undefined
}

/** Reads the SETTINGS of a client (RFC 9113, section 6.5). */
export function readSettings(bytes: Buffer, start: number, end: number): PeerSettings {
  if ((end - start) % SETTING_BYTES !== 0)
    throw new ConnectionError("FRAME_SIZE_ERROR", "SETTINGS must be a multiple of six bytes")
  let tableSize: number | undefined
  let firstWindow: number | undefined
  for (let at = start; at < end; at += SETTING_BYTES) {
    const value = bytes.readUInt32BE(at + 2)
    switch (bytes.readUInt16BE(at)) {
      case SETTING.HEADER_TABLE_SIZE:
        // The smallest value of a frame counts (RFC 7541, section 4.2).
        tableSize = Math.min(tableSize ?? value, value)
        break
      case SETTING.ENABLE_PUSH:
        if (value > 1) throw new ConnectionError("PROTOCOL_ERROR", "ENABLE_PUSH is 0 or 1")
        break
      case SETTING.INITIAL_WINDOW_SIZE:
        if (value > MAX_WINDOW)
          throw new ConnectionError("FLOW_CONTROL_ERROR", "INITIAL_WINDOW_SIZE is too large")
        firstWindow = value
        break
      case SETTING.MAX_FRAME_SIZE:
        // The value is only checked: this server never sends larger frames than the minimum.
        if (value < MAX_FRAME || value > MAX_FRAME_SIZE_SETTING)
          throw new ConnectionError("PROTOCOL_ERROR", "MAX_FRAME_SIZE is out of bounds")
        break
    }
  }
  return { tableSize, firstWindow }
}
