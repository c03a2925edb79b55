import { isIP } from "node:net"
import { describe, expect, it } from "vitest"
import { canonicalIp, formatIp, parseIp } from "./ip-address.js"

describe("parseIp", () => {
  it.each([
    ["0.0.0.0", 0],
    ["203.0.113.7", 0xcb007107],
    ["255.255.255.255", 0xffffffff],
    ["::ffff:203.0.113.7", 0xcb007107],
    ["::FFFF:cb00:7107", 0xcb007107],
    ["0:0:0:0:0:ffff:203.0.113.7%eth0", 0xcb007107],
  ])("reads %s as IPv4", (text, address) => {
    expect(parseIp(text)).toBe(address)
  })

  it.each([
    ["::", [0, 0, 0, 0, 0, 0, 0, 0]],
    ["::1", [0, 0, 0, 0, 0, 0, 0, 1]],
    ["1::", [1, 0, 0, 0, 0, 0, 0, 0]],
    ["2001:DB8::a:0001", [0x2001, 0xdb8, 0, 0, 0, 0, 0xa, 1]],
    ["1:2:3:4:5:6:7:8", [1, 2, 3, 4, 5, 6, 7, 8]],
    ["1:2:3::5:6:7:8", [1, 2, 3, 0, 5, 6, 7, 8]],
    ["::2:3:4:5:6:7:8", [0, 2, 3, 4, 5, 6, 7, 8]],
    ["1:2:3:4:5:6:7::", [1, 2, 3, 4, 5, 6, 7, 0]],
    ["fe80::1%eth0", [0xfe80, 0, 0, 0, 0, 0, 0, 1]],
    ["::1.2.3.4", [0, 0, 0, 0, 0, 0, 0x102, 0x304]],
    ["64:ff9b::192.0.2.1", [0x64, 0xff9b, 0, 0, 0, 0, 0xc000, 0x201]],
    ["::ffff:0:1.2.3.4", [0, 0, 0, 0, 0xffff, 0, 0x102, 0x304]],
  ])("reads %s as IPv6", (text, groups) => {
    expect(parseIp(text)).toEqual(groups)
  })

  it.each([
    "",
    " ",
    "1",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.",
    ".1.2.3",
    "1..2.3",
    "01.2.3.4",
    "1.2.3.04",
    "256.1.1.1",
    "1.2.3.1000",
    "0x1.2.3.4",
    "1.2.3.4 ",
    " 1.2.3.4",
    "+1.2.3.4",
    "1.2.3.4%eth0",
    "1.2.3.4:80",
    "１.2.3.4",
    ":",
    ":::",
    "1:",
    ":1",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7:8::",
    "1:2:3:4::5:6:7:8",
    "12345::",
    "g::",
    "[::1]",
    "::1%",
    "%eth0",
    "::1.2.3",
    "::1.2.3.04",
    "::ffff:1.2.3.256",
    "1:2:3:4:5:6:7:1.2.3.4",
    "::1.2.3.4:5",
    "::ffff:",
    "2130706433",
    "localhost",
  ])("finds no address in %j", (text) => {
    expect(parseIp(text)).toBeUndefined()
    expect(canonicalIp(text)).toBeUndefined()
    expect(isIP(text)).toBe(0)
  })
})

describe("canonicalIp", () => {
  it.each([
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:203.0.113.7", "203.0.113.7"],
    ["::ffff:cb00:7107", "203.0.113.7"],
    ["2001:DB8:0:0:0:0:0:1", "2001:db8::1"],
    ["2001:db8:0:1:0:0:0:1", "2001:db8:0:1::1"],
    ["2001:0:0:1:0:0:1:1", "2001::1:0:0:1:1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["0:0:0:0:0:0:0:0", "::"],
    ["1:0:0:0:0:0:0:0", "1::"],
    ["::0001", "::1"],
    ["fe80::1%eth0", "fe80::1"],
    ["::1.2.3.4", "::102:304"],
  ])("writes %s as %s", (text, canonical) => {
    expect(canonicalIp(text)).toBe(canonical)
    expect(canonicalIp(canonical)).toBe(canonical)
  })

  it("writes every octet of an IPv4 address, the first and the last too", () => {
    expect(formatIp(0xfffefdfc)).toBe("255.254.253.252")
    expect(formatIp(0)).toBe("0.0.0.0")
  })
})
