import { describe, expect, it } from "vitest"
import { SluiceError } from "../../errors.js"
import { AddressKeys, checkIpv6Subnet, ipKey } from "./ip-key.js"

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

it.each(["", "localhost", "192.0.2.256", "192.0.2.1 "])("refuses %j, also when it is cached", (text) => {
  const keys = new AddressKeys(64)
  expect([keys.of(text), keys.of(text)]).toEqual([undefined, undefined])
})

it("returns correct keys when there are more addresses than the cache holds", () => {
  const keys = new AddressKeys(128)
  const addressOf = (i: number) => `10.0.${i >> 8}.${i & 255}`
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 10_000; i++) expect(keys.of(addressOf(i))).toBe(`ip:${addressOf(i)}`)
  }
})

describe("ipKey", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["::ffff:cb00:7107", "203.0.113.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:DB8:1:2::", "2001:db8:1:2::/64"],
    ["::1", "::/64"],
    ["fe80::1%eth0", "fe80::/64"],
  ])("counts %s as %s", (ip, key) => {
    expect(ipKey(ip)).toBe(key)
  })

  it.each([
    [128, "2001:db8:1:2ff:3:4:5:6"],
    [127, "2001:db8:1:2ff:3:4:5:6/127"],
    [60, "2001:db8:1:2f0::/60"],
    [56, "2001:db8:1:200::/56"],
    [48, "2001:db8:1::/48"],
    [1, "::/1"],
  ])("counts IPv6 by its first %i bits", (bits, key) => {
    expect(ipKey("2001:db8:1:2ff:3:4:5:6", bits)).toBe(key)
    expect(ipKey("::ffff:1.2.3.4", bits)).toBe("1.2.3.4")
  })

  it.each(["", "unknown", "1.2.3", "2001:db8::/64"])("has no key for %j", (text) => {
    expect(ipKey(text)).toBeUndefined()
  })
})

describe("checkIpv6Subnet", () => {
  it.each([1, 64, 128, undefined])("takes %s", (bits) => {
    expect(() => checkIpv6Subnet(bits, "ipv6Subnet")).not.toThrow()
  })

  it.each([0, 129, 63.5, Number.NaN, "64", null])("refuses %s", (bits) => {
    expect(() => checkIpv6Subnet(bits, "ipv6Subnet")).toThrow(SluiceError)
  })
})
