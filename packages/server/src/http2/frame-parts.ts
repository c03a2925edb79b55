// What may stand in a frame beside what it is about: padding, and a priority.

import { ConnectionError } from "./error-code.js"
import { HIGHEST_STREAM } from "./frame.js"

/** The stream that another depends on, and a weight. */
export const PRIORITY_BYTES = 5

/** How many bytes at the end are padding. The first byte says it. */
export function paddingOf(bytes: Buffer, start: number, end: number): number {
  if (start === end) throw new ConnectionError("FRAME_SIZE_ERROR", "a frame ends before its padding is said")
  const padding = bytes[start] as number
  if (padding >= end - start) throw new ConnectionError("PROTOCOL_ERROR", "there is more padding than frame")
  return padding
}

/** Priorities are not followed, but one that cannot be is a mistake. */
export function refuseCircle(id: number, bytes: Buffer, start: number): void {
  if ((bytes.readUInt32BE(start) & HIGHEST_STREAM) === id)
    throw new ConnectionError("PROTOCOL_ERROR", "a stream depends on itself")
}
