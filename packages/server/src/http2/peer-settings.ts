// Reads the SETTINGS of a client (RFC 9113, section 6.5).

import { ConnectionError, MAX_FRAME, MAX_WINDOW, SETTING } from "./frame.js"

const SETTING_BYTES = 6
const MAX_FRAME_SIZE_SETTING = 2 ** 24 - 1

export interface PeerSettings {
  /** Undefined if the frame did not have it. */
  readonly tableSize?: number | undefined
  readonly firstWindow?: number | undefined
}

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
