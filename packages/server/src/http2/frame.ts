// Frames of RFC 9113, section 4: nine bytes that say how long it is, of which type, with which flags, on which stream.

export const FRAME_HEAD = 9
/** What every client may send and takes; nobody is asked for more. */
export const LARGEST_FRAME = 16_384
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

/** What may be sent, on a stream or a connection, before the other side says more. */
export const FIRST_WINDOW = 65_535
export const LARGEST_WINDOW: number = 2 ** 31 - 1
export const HIGHEST_STREAM: number = 2 ** 31 - 1
