// Which of a Cluster's 16384 slots a key lives in: CRC16 (XMODEM) of its hash tag.

const TABLE = new Uint16Array(256).map((_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

export function keyslot(key: string): number {
  const open = key.indexOf("{")
  const close = open < 0 ? -1 : key.indexOf("}", open + 1)
  const tag = close > open + 1 ? key.slice(open + 1, close) : key
  let crc = 0
  for (const byte of Buffer.from(tag))
    crc = ((crc << 8) ^ (TABLE[((crc >> 8) ^ byte) & 0xff] as number)) & 0xffff
  return crc & 0x3fff
}
