import { describe, expect, it } from "vitest"
import { type CanonicalPathOptions, canonicalPath, pathRefusals } from "./path.js"

function pathOf(target: string, options?: CanonicalPathOptions): string {
  const canonical = canonicalPath(target, options)
  return canonical.ok ? canonical.path : `refused: ${canonical.reason}`
}

describe("canonicalPath", () => {
  it.each([
    "/",
    "/a",
    "/v1/users/42",
    "/a/",
    "/~me/a-b_c.d",
    "/x;y=1,2",
    "/@me:verb",
    "/!$&'()*+,=",
    "/a..b",
    "/a.",
  ])("returns %s itself", (path) => {
    expect(canonicalPath(path)).toEqual({ ok: true, path, query: "" })
  })

  it.each([
    ["/a?b=c", "/a", "b=c"],
    ["/a?", "/a", ""],
    ["/?/../%zz?", "/", "/../%zz?"],
    ["//a?x", "/a", "x"],
    ["/a?n=\xe9&m=1", "/a", "n=%E9&m=1"],
    ['/a?q="<\\>"', "/a", 'q="<\\>"'],
  ])("splits %j into a path and its query", (target, path, query) => {
    expect(canonicalPath(target)).toEqual({ ok: true, path, query })
  })

  it.each([
    ["//", "/"],
    ["//a///b//", "/a/b/"],
    ["/.", "/"],
    ["/./a/./b/.", "/a/b/"],
    ["/a/..", "/"],
    ["/a/b/..", "/a/"],
    ["/a/b/../c", "/a/c"],
    ["/a/b/../../c", "/c"],
    ["/a/%2e%2E/b/%2e/c", "/b/c"],
    ["/.well-known/x", "/.well-known/x"],
    ["/...", "/..."],
    ["/..a/.b", "/..a/.b"],
    ["/a/../b//c", "/b/c"],
  ])("brings the segments of %s to %s", (target, path) => {
    expect(pathOf(target)).toBe(path)
  })

  it.each([
    ["/%61%5A%30%2d%2E%5f%7e", "/aZ0-._~"],
    ["/bob%40example.com", "/bob@example.com"],
    ["/%21%24%26%27%28%29%2a%2c%3a%3d", "/!$&'()*,:="],
    ["/a%20b%c3%a9", "/a%20b%C3%A9"],
    ["/100%25", "/100%25"],
    ["/%25zz", "/%25zz"],
    ["/a%3bb%2bc%3f%23", "/a%3Bb%2Bc%3F%23"],
    ['/"<>^`{|}[]', "/%22%3C%3E%5E%60%7B%7C%7D%5B%5D"],
    ["/caf\xc3\xa9", "/caf%C3%A9"],
  ])("gives each character of %s one spelling: %s", (target, path) => {
    expect(pathOf(target)).toBe(path)
  })

  it.each([
    ["", "form"],
    ["a", "form"],
    ["*", "form"],
    ["http://host/a", "form"],
    ["/a#b", "fragment"],
    ["/%41#b", "fragment"],
    ["/a?b#c", "fragment"],
    ["/a b", "character"],
    ["/a\0", "character"],
    ["/a%00", "character"],
    ["/a%7F", "character"],
    ["/a\x7f", "character"],
    ["/a\\b", "character"],
    ["/a\u0100", "character"],
    ["/\ud800", "character"],
    ["/a?b c", "character"],
    ["/a?b\n", "character"],
    ["/a?b\x7f", "character"],
    ["/a?b\u2028", "character"],
    ["/%", "percent"],
    ["/%4", "percent"],
    ["/%4g", "percent"],
    ["/%g4", "percent"],
    ["/%4/1", "percent"],
    ["/%u0041", "percent"],
    ["/a%2fb", "slash"],
    ["/a%5Cb", "slash"],
    ["/%2541", "double-encoding"],
    ["/%252e%252e/a", "double-encoding"],
    ["/%25%34%31", "double-encoding"],
    ["/%c0%af", "overlong"],
    ["/\xc1\x81", "overlong"],
    ["/%e0%9f%bf", "overlong"],
    ["/%f0%8f%bf%bf", "overlong"],
    ["/..", "dots"],
    ["/../a", "dots"],
    ["/a/../../b", "dots"],
    ["/a//..", "dots"],
    ["/a//b/../..", "dots"],
    ["/a/..;/b", "dots"],
    ["/a/..;x=1", "dots"],
    ["/.;/b", "dots"],
    ["/a/..%3b/b", "dots"],
    ["/a/%2e%2e;/b", "dots"],
  ])("refuses %j because of its %s", (target, reason) => {
    expect(canonicalPath(target)).toEqual({ ok: false, reason })
    expect(pathRefusals).toHaveProperty(reason)
  })

  it.each([
    ["/repos/a%2fb", "/repos/a%2Fb"],
    ["/a%2F.b", "/a%2F.b"],
    ["/a%2f..", "refused: dots"],
    ["/a%2f..%2fb", "refused: dots"],
    ["/..%2fb", "refused: dots"],
    ["/.%2fb", "refused: dots"],
    ["/a%2f.;x", "refused: dots"],
    ["/a%5cb", "refused: slash"],
  ])("turns %s into %s if encoded slashes are kept", (target, path) => {
    expect(pathOf(target, { encodedSlashes: "keep" })).toBe(path)
  })

  it.each([
    ["/a/../b", "refused: dots"],
    ["/a/./b", "refused: dots"],
    ["/a/%2e%2e/b", "refused: dots"],
    ["/.well-known//x", "/.well-known/x"],
  ])("with dot segments refused, %s becomes %s", (target, path) => {
    expect(pathOf(target, { dotSegments: "refuse" })).toBe(path)
  })
})
