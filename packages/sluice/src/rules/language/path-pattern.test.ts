import { describe, expect, it } from "vitest"
import { SluiceError } from "../../errors.js"
import { compileMatcher } from "../match/matcher.js"
import { request } from "../match/request.test-support.js"
import { matchPath, parsePathPattern } from "./path-pattern.js"

function matches(pattern: string, path: string): boolean {
  return compileMatcher([{ path: pattern }]).match(request(path)).length === 1
}

function params(pattern: string, path: string): Readonly<Record<string, string>> | undefined {
  return compileMatcher([{ path: pattern }]).match(request(path))[0]?.params
}

describe("a path pattern", () => {
  it.each([
    ["/", ["/"], ["/a"]],
    ["/login", ["/login"], ["/", "/log", "/logins", "/login/now", "/a/login"]],
    ["/users/:id", ["/users/7", "/users/me"], ["/users", "/users/", "/users/7/posts"]],
    [
      "/files/*.png",
      ["/files/a.png", "/files/.png", "/files/a.b.png"],
      ["/files/a.gif", "/files/a/b.png", "/files"],
    ],
    ["/a/*/b", ["/a/x/b"], ["/a/b", "/a//b", "/a/x/y/b"]],
    ["/a*c*e", ["/ace", "/abcde", "/accee"], ["/ac", "/aec", "/abcd", "/a/c/e"]],
    ["/a*a", ["/aa", "/aba"], ["/a"]],
    ["/v1/**", ["/v1", "/v1/", "/v1/a", "/v1/a/b/c"], ["/v10", "/v2/a", "/"]],
    ["/**", ["/", "/a", "/a/b"], []],
    ["/**/**", ["/", "/a", "/a/b"], []],
    ["/**/admin", ["/admin", "/a/admin", "/a/b/admin"], ["/", "/a", "/admin/a"]],
    ["/a/**/z", ["/a/z", "/a/b/z", "/a/z/z"], ["/a", "/z", "/a/z/b"]],
    ["/a/**/b/**/c", ["/a/b/c", "/a/x/b/y/c", "/a/b/b/c/c"], ["/a/c/b", "/a/b", "/a/c"]],
    ["/**/a/b/**", ["/a/b", "/a/a/b", "/x/a/b/y"], ["/a/x/b", "/b/a"]],
    ["/v1/messages:batch", ["/v1/messages:batch"], ["/v1/messages"]],
  ])("%s matches exactly the paths that it should", (pattern, yes, no) => {
    for (const path of yes) expect([path, matches(pattern, path)]).toEqual([path, true])
    for (const path of no) expect([path, matches(pattern, path)]).toEqual([path, false])
  })

  it.each([
    ["/Login", "/login"],
    ["/login", "/LOGIN"],
    ["/login", "/login/"],
    ["/login/", "/login"],
    ["/login", "/login;jsessionid=1"],
    ["/a/b", "/a;x=1/b;y"],
    ["/admin", "/;x/admin"],
    ["/a+b", "/a%2Bb"],
    ["/a%2Bb", "/a+b"],
    ["/@me", "/%40me"],
    ["/{x}", "/%7Bx%7D"],
    ["/café", "/caf%C3%A9"],
    ["/caf%C3%A9", "/caf%C3%A9"],
    ["/x*.png", "/X1.PNG"],
    ["/keep/a%2Fb", "/keep/a%2Fb"],
  ])("%s also matches the spelling %s", (pattern, path) => {
    expect(matches(pattern, path)).toBe(true)
    expect(matches(`${pattern.replace(/\/$/, "")}/**`, path)).toBe(true)
  })

  it("matches an encoded star or colon as the character itself", () => {
    expect(matches("/a%2Ab", "/a*b")).toBe(true)
    expect(matches("/a%2Ab", "/axb")).toBe(false)
    expect(matches("/*%2A", "/x*")).toBe(true)
    expect(matches("/*%2A", "/xy")).toBe(false)
    expect(matches("/%3Aid", "/:id")).toBe(true)
    expect(matches("/%3Aid", "/7")).toBe(false)
  })

  it("does not split segments at an encoded slash", () => {
    expect(matches("/a/b", "/a%2Fb")).toBe(false)
    expect(matches("/:one", "/a%2Fb")).toBe(true)
  })

  it("does not fold case beyond ASCII, where a folded path could have another length", () => {
    expect(matches("/k", "/\u212a")).toBe(false)
  })
})

describe("parameters", () => {
  it.each([
    ["/users/:id", "/users/42", { id: "42" }],
    ["/users/:id", "/Users/AbC", { id: "AbC" }],
    ["/users/:id", "/users/a;v=1/", { id: "a" }],
    ["/users/:id", "/users/a%2Bb%C3%A9", { id: "a+b%C3%A9" }],
    ["/:a/x/:b", "/1/x/2", { a: "1", b: "2" }],
    ["/**/:last", "/a/b/c", { last: "c" }],
    ["/:first/**", "/a/b/c", { first: "a" }],
    ["/**/x/:id/**", "/x/1/x/2", { id: "1" }],
    ["/**/x/:id/**/y/:to", "/a/x/1/x/2/y/3/y/4", { id: "1", to: "4" }],
  ])("of %s in %s are captured in their original case", (pattern, path, expected) => {
    expect(params(pattern, path)).toEqual(expected)
  })

  it("are undefined when the pattern has none", () => {
    expect(params("/users/*", "/users/42")).toBeUndefined()
  })

  it("have no name that was not captured", () => {
    const captured = params("/:id", "/1")
    for (const name of ["constructor", "toString", "__proto__", "hasOwnProperty"]) {
      expect(captured?.[name]).toBeUndefined()
    }
  })
})

describe("parsePathPattern", () => {
  const many = (count: number) => "/a".repeat(count)

  it.each([
    ["", 'must start with "/"'],
    ["users", 'must start with "/"'],
    ["**", 'must start with "/"'],
    ["/a?b=1", 'must not have a "?": use query for what follows it'],
    ["/a//b", "must not have empty segments"],
    ["//", "must not have empty segments"],
    ["/a/./b", 'must not have "." or ".." as a segment'],
    ["/a/..", 'must not have "." or ".." as a segment'],
    ["/a**", "must have ** as a whole segment"],
    ["/**b/c", "must have ** as a whole segment"],
    ["/***", "must have ** as a whole segment"],
    ["/a;v=1", 'must not have a ";": what follows it in a segment is not compared'],
    ["/a b", "must not have spaces, control characters, backslashes or #"],
    ["/a\tb", "must not have spaces, control characters, backslashes or #"],
    ["/a\0", "must not have spaces, control characters, backslashes or #"],
    ["/a\\b", "must not have spaces, control characters, backslashes or #"],
    ["/a#b", "must not have spaces, control characters, backslashes or #"],
    ["/a\ud800", "must not have spaces, control characters, backslashes or #"],
    ["/:", "must have a name of letters, digits and _ after a : that starts a segment"],
    ["/:1", "must have a name of letters, digits and _ after a : that starts a segment"],
    ["/:id.png", "must have a name of letters, digits and _ after a : that starts a segment"],
    ["/::id", "must have a name of letters, digits and _ after a : that starts a segment"],
    ["/:id/x/:id", "must not have the parameter :id twice"],
    ["/:__proto__", "must not name a parameter __proto__"],
    ["/:constructor", "must not name a parameter constructor"],
    ["/%", "must have two hexadecimal digits, in upper case, after a %"],
    ["/%4", "must have two hexadecimal digits, in upper case, after a %"],
    ["/%zz", "must have two hexadecimal digits, in upper case, after a %"],
    ["/caf%c3%a9", "must have two hexadecimal digits, in upper case, after a %"],
    ["/%61", "must have a instead of %61"],
    ["/%2E%2E", "must have . instead of %2E"],
    ["/%00", "must not have %00"],
    ["/%7F", "must not have %7F"],
    ["/a%5Cb", "must not have %5C"],
    ["/%2541", "must not be encoded twice"],
    [`/${"a".repeat(1_024)}`, "must have at most 1,024 characters"],
    [many(33), "must have at most 32 segments"],
    [`/${"a".repeat(256)}*`, "must have at most 256 characters in a segment with *"],
  ])("refuses %j", (text, expected) => {
    expect(() => parsePathPattern(text, "rules[0].match.path")).toThrow(
      expect.objectContaining({
        code: "PATTERN_INVALID",
        place: "rules[0].match.path",
        expected,
        found: text,
      }),
    )
  })

  it("takes the longest that is allowed", () => {
    expect(parsePathPattern(many(32), "path").text).toBe(many(32))
    expect(parsePathPattern(`/${"a".repeat(1_023)}`, "path").params).toEqual([])
    expect(parsePathPattern(`/${"a".repeat(255)}*`, "path").runs.length).toBe(1)
  })

  it("gives two patterns the same form only if they differ in the names of parameters or the spelling", () => {
    const form = (text: string) => parsePathPattern(text, "path").form
    expect(form("/a/:id/b")).toBe(form("/A/:name/b/"))
    const patterns = [
      "/a",
      "/a/b",
      "/:a",
      "/%3A",
      "/*",
      "/%2A",
      "/**",
      "/**/a",
      "/a/**",
      "/a*",
      "/a%2A",
      "/*a",
    ]
    expect(new Set(patterns.map(form)).size).toBe(patterns.length)
  })

  it("throws a SluiceError for a value that is no text", () => {
    for (const text of [undefined, null, 7, {}, []]) {
      expect(() => parsePathPattern(text as never, "path")).toThrow(SluiceError)
    }
  })
})

describe("matchPath", () => {
  it("returns where each run begins, with every ** but the last as short as possible", () => {
    const { runs } = parsePathPattern("/a/**/b/**/c", "path")
    expect(matchPath(runs, ["a", "x", "b", "b", "c", "c"])).toEqual([0, 2, 5])
    expect(matchPath(runs, ["a", "c"])).toBeUndefined()
  })
})
