export const SLOT_COUNT = 16_384

/** The Cluster slot of a key: CRC16 (XMODEM) of its hash tag, or of the whole key when it has none. */
export function keyslot(key: string): number {
  return crc16(Buffer.from(hashTag(key))) % SLOT_COUNT
}

/** The text between the first `{` and the next `}`, unless that text is empty. */
function hashTag(key: string): string {
  const open = key.indexOf("{")
  if (open === -1) return key
  const close = key.indexOf("}", open + 1)
  return close === -1 || close === open + 1 ? key : key.slice(open + 1, close)
}

export function crc16(bytes: Uint8Array): number {
  let crc = 0
  for (const byte of bytes) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) {
      crc = (crc & 0x8000) === 0 ? crc << 1 : (crc << 1) ^ 0x1021
    }
    crc &= 0xffff
  }
  return crc
}
