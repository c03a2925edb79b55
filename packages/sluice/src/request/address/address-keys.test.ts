import { expect, it } from "vitest"
import { AddressKeys } from "./address-keys.js"

it.each([
  ["192.0.2.1", "ip:192.0.2.1"],
  ["::ffff:192.0.2.1", "ip:192.0.2.1"],
  ["2001:db8:0:1:2:3:4:5", "ip:2001:db8:0:1::/64"],
  ["2001:DB8:0:1::9", "ip:2001:db8:0:1::/64"],
  [`fe80::1%${"x".repeat(1_000)}`, "ip:fe80::/64"],
])("counts %s as %s, the first time and the next", (ip, key) => {
  const keys = new AddressKeys(64)
  expect([keys.of(ip), keys.of(ip)]).toEqual([key, key])
})

it.each(["", "localhost", "192.0.2.256", "192.0.2.1 "])(
  "knows that %j is no address, also the next time",
  (text) => {
    const keys = new AddressKeys(64)
    expect([keys.of(text), keys.of(text)]).toEqual([undefined, undefined])
  },
)

it("keeps counting right when more come than it keeps", () => {
  const keys = new AddressKeys(128)
  const addressOf = (i: number) => `10.0.${i >> 8}.${i & 255}`
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 10_000; i++) expect(keys.of(addressOf(i))).toBe(`ip:${addressOf(i)}`)
  }
})
