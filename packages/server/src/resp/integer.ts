const MINUS = 0x2d
const PLUS = 0x2b
const ZERO = 0x30
const NINE = 0x39

/** The decimal integer in `bytes` from `start` to `end`, or NaN. Beyond 2^53 it is rounded, as every number is. */
export function parseInteger(bytes: Uint8Array, start: number, end: number): number {
  let at = start
  const sign = bytes[start]
  if (sign === MINUS || sign === PLUS) at++
  if (at >= end) return Number.NaN
  let value = 0
  for (; at < end; at++) {
    const byte = bytes[at] as number
    if (byte < ZERO || byte > NINE) return Number.NaN
    value = value * 10 + (byte - ZERO)
  }
  return sign === MINUS ? -value : value
}
