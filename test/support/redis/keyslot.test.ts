import { expect, it } from "vitest"
import { crc16, keyslot } from "./keyslot.js"

it("has the check value of CRC16/XMODEM", () => {
  expect(crc16(Buffer.from("123456789"))).toBe(0x31c3)
})

it.each([
  ["", 0],
  ["foo", 12_182],
  ["bar", 5_061],
  ["hello", 866],
  ["123456789", 12_739],
])("puts %j in slot %i", (key, slot) => {
  expect(keyslot(key)).toBe(slot)
})

it("hashes the first non-empty tag only", () => {
  expect(keyslot("{user1000}.following")).toBe(keyslot("user1000"))
  expect(keyslot("foo{bar}{zap}")).toBe(keyslot("bar"))
  expect(keyslot("foo{{bar}}zap")).toBe(keyslot("{bar"))
  expect(keyslot("foo{}{bar}")).toBe(crc16(Buffer.from("foo{}{bar}")) % 16_384)
})
