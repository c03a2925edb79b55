import { describe, expect, it } from "vitest"
import { comparedHost } from "../../request/host.js"
import { matchesHost, parseHostPattern } from "./host-pattern.js"

function matches(pattern: string, header: string): boolean {
  return matchesHost(parseHostPattern(pattern, "host"), comparedHost(header))
}

describe("a host pattern", () => {
  it.each([
    [
      "api.example.com",
      [
        "api.example.com",
        "API.Example.COM",
        "api.example.com:8080",
        "api.example.com.",
        "api.example.com.:443",
      ],
    ],
    ["API.example.com.", ["api.example.com"]],
    ["*.example.com", ["a.example.com", "a.b.example.com", "A.EXAMPLE.com:80"]],
    ["localhost", ["localhost", "localhost:3000"]],
    ["192.0.2.1", ["192.0.2.1:80"]],
    ["[2001:DB8::1]", ["[2001:db8::1]", "[2001:db8::1]:8080"]],
    ["*.local", ["printer.local"]],
    ["_dmarc.example.com", ["_dmarc.example.com"]],
  ])("%s matches %j", (pattern, headers) => {
    for (const header of headers) expect([header, matches(pattern, header)]).toEqual([header, true])
  })

  it.each([
    [
      "api.example.com",
      ["example.com", "x.api.example.com", "api.example.com.evil.test", "api-example.com", ""],
    ],
    [
      "*.example.com",
      ["example.com", ".example.com", "notexample.com", "a.example.com.evil.test", "example.com:80"],
    ],
    ["[::1]", ["[::2]", "::1"]],
  ])("%s does not match %j", (pattern, headers) => {
    for (const header of headers) expect([header, matches(pattern, header)]).toEqual([header, false])
  })

  it.each([
    ["", "must be a host, like api.example.com"],
    ["api.example.com:8080", "must not have a port: rules match a host on every port"],
    ["*", "must name a domain after the *; a rule without host matches every host"],
    ["api.*.com", "must have * only as its first label, like *.example.com"],
    ["api*.example.com", "must have * only as its first label, like *.example.com"],
    ["*.*.com", "must have * only as its first label, like *.example.com"],
    ["a..b", "must be labels of letters, digits, - and _, like api.example.com"],
    ["*.", "must name a domain after the *; a rule without host matches every host"],
    ["-a.com", "must be labels of letters, digits, - and _, like api.example.com"],
    ["https://a.com", "must be labels of letters, digits, - and _, like api.example.com"],
    ["a.com/path", "must be labels of letters, digits, - and _, like api.example.com"],
    ["a b", "must be labels of letters, digits, - and _, like api.example.com"],
    [`${"a".repeat(64)}.com`, "must be labels of letters, digits, - and _, like api.example.com"],
    ["bücher.example", "must be written in ASCII, as in the Host header: xn--…"],
    ["a.".repeat(127), "must have at most 253 characters"].map((text, i) =>
      i === 0 ? `${text}aa` : text,
    ) as [string, string],
  ])("is refused when it is %j", (text, expected) => {
    expect(() => parseHostPattern(text, "match.host")).toThrow(
      expect.objectContaining({ code: "PATTERN_INVALID", place: "match.host", expected, found: text }),
    )
  })
})
