// What a client says of itself in SETTINGS, RFC 9113, section 6.5.

import { ConnectionError } from "./error-code.js"
import { LARGEST_FRAME, LARGEST_WINDOW, SETTING } from "./frame.js"

const SETTING_BYTES = 6
const LARGEST_FRAME_OF_ALL = 2 ** 24 - 1

export interface PeerSettings {
  /** Each only if it came. */
  readonly tableSize?: number | undefined
  readonly firstWindow?: number | undefined
}

export function readSettings(bytes: Buffer, start: number, end: number): PeerSettings {
  if ((end - start) % SETTING_BYTES !== 0)
    throw new ConnectionError("FRAME_SIZE_ERROR", "settings have six bytes each")
  let tableSize: number | undefined
  let firstWindow: number | undefined
  for (let at = start; at < end; at += SETTING_BYTES) {
    const value = bytes.readUInt32BE(at + 2)
    switch (bytes.readUInt16BE(at)) {
      case SETTING.HEADER_TABLE_SIZE:
        // The smallest that was said has to be answered for.
        tableSize = Math.min(tableSize ?? value, value)
        break
      case SETTING.ENABLE_PUSH:
        if (value > 1) throw new ConnectionError("PROTOCOL_ERROR", "ENABLE_PUSH is 0 or 1")
        break
      case SETTING.INITIAL_WINDOW_SIZE:
        if (value > LARGEST_WINDOW)
          throw new ConnectionError("FLOW_CONTROL_ERROR", "INITIAL_WINDOW_SIZE is too large")
        firstWindow = value
        break
      case SETTING.MAX_FRAME_SIZE:
        // Nothing larger than the least of them is sent here.
        if (value < LARGEST_FRAME || value > LARGEST_FRAME_OF_ALL)
          throw new ConnectionError("PROTOCOL_ERROR", "MAX_FRAME_SIZE is out of bounds")
        break
    }
  }
  return { tableSize, firstWindow }
}
