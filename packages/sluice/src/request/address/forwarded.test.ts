import { describe, expect, it } from "vitest"
import { elementStart, hopAddress, parseElement } from "./forwarded.js"

/** All elements, the last one first. */
function elementsOf(header: string): string[] {
  const elements: string[] = []
  for (let end = header.length; end > 0; ) {
    const start = elementStart(header, end)
    elements.push(header.slice(start, end).trim())
    end = start - 1
  }
  return elements
}

describe("elementStart", () => {
  it.each([
    ["for=a", ["for=a"]],
    ["for=a, for=b", ["for=b", "for=a"]],
    ['for="a,b", for=c', ["for=c", 'for="a,b"']],
    ['for=a, host="x,\\",y"', ['host="x,\\",y"', "for=a"]],
    ['for=a, host="x\\\\", for=b', ["for=b", 'host="x\\\\"', "for=a"]],
    ['for="a, for=b', ["for=b", 'for="a']],
    ['for="a, for="[::1]"', ['for="[::1]"', 'for="a']],
    [",", [""]],
  ])("cuts %s into its elements from the right", (header, elements) => {
    expect(elementsOf(header)).toEqual(elements)
  })
})

describe("parseElement", () => {
  it.each([
    ["for=192.0.2.7", { for: "192.0.2.7" }],
    ["For=192.0.2.7;PROTO=https;by=203.0.113.43", { for: "192.0.2.7", proto: "https" }],
    ['for="[2001:db8::7]:4711"; host="example.com"', { for: "[2001:db8::7]:4711", host: "example.com" }],
    ['host="a\\"b\\\\c"', { host: 'a"b\\c' }],
    ["for=192.0.2.7:80", { for: "192.0.2.7:80" }],
    ["by=_proxy;secret=_x", {}],
    ["for=a;", { for: "a" }],
    ["", {}],
  ])("reads %s", (text, expected) => {
    expect(parseElement(text)).toEqual({ for: undefined, proto: undefined, host: undefined, ...expected })
  })

  it.each([
    "for",
    "for=",
    "=x",
    "for=a b",
    'for="a',
    'for="a"b',
    "for=a;for=b",
    "for=a;;proto=b",
    'for=a"b"',
    'for="a\\"',
  ])("reads nothing from %s", (text) => {
    expect(parseElement(text)).toBeUndefined()
  })
})

describe("hopAddress", () => {
  it.each([
    ["192.0.2.7", "192.0.2.7"],
    ["192.0.2.7:80", "192.0.2.7"],
    ["192.0.2.7:_p", "192.0.2.7"],
    ["[2001:DB8::7]", "2001:db8::7"],
    ["[2001:db8::7]:443", "2001:db8::7"],
    ["2001:db8::7", "2001:db8::7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["[::ffff:192.0.2.7]:80", "192.0.2.7"],
  ])("finds the address in %s", (text, ip) => {
    expect(hopAddress(text)).toBe(ip)
  })

  it.each([
    "",
    "unknown",
    "_hidden",
    "192.0.2.7:",
    "192.0.2.7:port",
    "192.0.2.7:123456",
    "[192.0.2.7]",
    "[2001:db8::7",
    "[2001:db8::7]x",
    "2001:db8::7]",
    "192.0.2.07",
    "example.com:80",
    "9".repeat(200),
  ])("finds none in %j", (text) => {
    expect(hopAddress(text)).toBeUndefined()
  })
})
