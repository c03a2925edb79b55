import { describe, expect, it } from "vitest"
import { compileCidrs } from "./cidr.js"

describe("compileCidrs", () => {
  it.each([
    [
      "10.0.0.0/8",
      ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3"],
      ["9.255.255.255", "11.0.0.0", "::a00:1"],
    ],
    ["203.0.113.7", ["203.0.113.7"], ["203.0.113.6", "203.0.113.8"]],
    ["203.0.113.7/32", ["203.0.113.7"], ["203.0.113.6", "203.0.113.8"]],
    ["128.0.0.0/1", ["128.0.0.0", "255.255.255.255"], ["127.255.255.255"]],
    ["0.0.0.0/0", ["0.0.0.0", "255.255.255.255", "::ffff:1.2.3.4"], ["::", "2001:db8::1"]],
    ["::/0", ["::", "ffff::", "2001:db8::1"], ["1.2.3.4", "::ffff:1.2.3.4"]],
    [
      "2001:db8::/32",
      ["2001:db8::", "2001:db8:ffff::1", "2001:db8::1%eth0"],
      ["2001:db7:ffff::", "2001:db9::"],
    ],
    ["2001:db8::8000/113", ["2001:db8::8000", "2001:db8::ffff"], ["2001:db8::7fff"]],
    ["::1", ["::1", "0:0:0:0:0:0:0:1"], ["::2", "::", "127.0.0.1"]],
    ["::ffff:10.0.0.0/104", ["10.0.0.1", "10.255.255.255"], ["11.0.0.0", "9.255.255.255"]],
    ["::ffff:0.0.0.0/96", ["1.2.3.4"], ["::1"]],
    ["::ffff:10.0.0.1", ["10.0.0.1"], ["10.0.0.2"]],
    ["loopback", ["127.0.0.1", "127.9.9.9", "::1"], ["128.0.0.1", "10.0.0.1", "::2"]],
    ["private", ["10.0.0.1", "172.31.0.1", "192.168.0.1", "fd00::1"], ["172.32.0.1", "127.0.0.1", "fe80::1"]],
  ])("knows what is in %s", (cidr, inside, outside) => {
    const list = compileCidrs([cidr], "trustProxy")
    expect(inside.filter((ip) => !list.contains(ip))).toEqual([])
    expect(outside.filter((ip) => list.contains(ip))).toEqual([])
  })

  it.each(["", "unknown", "10.0.0.1:80", "10.0.0.01", "10.0.0.0/8", "[::1]"])("holds no %j", (text) => {
    expect(compileCidrs(["0.0.0.0/0", "::/0"], "list").contains(text)).toBe(false)
  })

  it("holds nothing when it is empty", () => {
    expect(compileCidrs([], "list").contains("127.0.0.1")).toBe(false)
  })

  it("finds an address in the wider of two ranges when the narrower starts nearer to it", () => {
    const list = compileCidrs(["10.1.0.0/16", "10.0.0.0/8", "10.1.2.0/24", "10.0.0.0/16"], "list")
    expect(list.contains("10.1.3.1")).toBe(true)
    expect(list.contains("10.200.0.1")).toBe(true)
    expect(list.contains("11.0.0.0")).toBe(false)
  })

  it("finds each of 10,000 ranges and nothing between them", () => {
    const first = (i: number) => `${(i >>> 8) + 1}.${i & 255}`
    const list = compileCidrs(
      Array.from({ length: 10_000 }, (_, i) => [`${first(i)}.16.0/20`, `2001:${i.toString(16)}::/33`]).flat(),
      "list",
    )
    for (let i = 0; i < 10_000; i++) {
      expect(list.contains(`${first(i)}.31.255`)).toBe(true)
      expect(list.contains(`${first(i)}.32.0`)).toBe(false)
      expect(list.contains(`2001:${i.toString(16)}:7fff::1`)).toBe(true)
      expect(list.contains(`2001:${i.toString(16)}:8000::1`)).toBe(false)
    }
  })

  it.each([
    "",
    "10.0.0.0/",
    "10.0.0.0/33",
    "10.0.0.0/08",
    "10.0.0.0/-1",
    "10.0.0.0/8.0",
    "10.0.0.0/8/8",
    "10.0.0.0/255.0.0.0",
    "10.0.0/8",
    "010.0.0.0/8",
    "/8",
    "::/129",
    "::1%eth0",
    "fe80::%eth0/64",
    "Private",
    "toString",
    "example.com",
    7,
    null,
  ])("refuses %j", (text) => {
    expect(() => compileCidrs(["127.0.0.1", text as string], "allow")).toThrow(
      expect.objectContaining({ code: "CIDR_INVALID", place: "allow[1]", found: text }),
    )
  })

  it.each(["::ffff:10.0.0.0/8", "::ffff:0:0/95", "::ffff:10.0.0.0/32"])(
    "refuses %s, which would mean more than IPv4",
    (text) => {
      expect(() => compileCidrs([text], "trustProxy")).toThrow(
        /must have at least \/96, or be written as IPv4/,
      )
    },
  )

  it.each([
    ["10.1.2.3/8", "10.0.0.0"],
    ["2001:db8::1/64", "2001:db8::"],
    ["::ffff:10.1.0.0/104", "10.0.0.0"],
  ])("refuses %s and says that the range starts at %s", (text, first) => {
    expect(() => compileCidrs([text], "list")).toThrow(`must start at the range's first address, ${first}`)
  })
})
