import { describe, expect, it } from "vitest"
import { parsePathPattern } from "../language/path-pattern.js"
import { PathTrie } from "./path-trie.js"

function trieOf(...patterns: string[]): (path: string) => string[] {
  const trie = new PathTrie<string>()
  for (const text of patterns) trie.set(parsePathPattern(text, "path"), text)
  return (path) => [...trie.find(path.split("/").slice(path === "/" ? 2 : 1))].sort()
}

describe("a trie of path patterns", () => {
  const patterns = [
    "/",
    "/a",
    "/a/:x",
    "/a/b",
    "/a/b*",
    "/a/**",
    "/**",
    "/**/a",
    "/**/a/**",
    "/**/a/**/a/**",
    "/:x/**/b",
  ]
  const find = trieOf(...patterns)

  it.each([
    ["/", ["/", "/**"]],
    ["/a", ["/**", "/**/a", "/**/a/**", "/a", "/a/**"]],
    ["/b", ["/**"]],
    ["/a/b", ["/**", "/**/a/**", "/:x/**/b", "/a/**", "/a/:x", "/a/b", "/a/b*"]],
    ["/a/a", ["/**", "/**/a", "/**/a/**", "/**/a/**/a/**", "/a/**", "/a/:x"]],
    ["/c/d/b", ["/**", "/:x/**/b"]],
  ])("finds for %s each pattern that matches, once", (path, expected) => {
    expect(find(path)).toEqual(expected)
    // Nothing is left over from the walk before.
    expect(find(path)).toEqual(expected)
  })

  it("finds a pattern once that matches at every segment of a path", () => {
    expect(trieOf("/**/a/**", "/**/a/**/a/**")("/a".repeat(100)).length).toBe(2)
  })

  it("distinguishes the literals that follow a parameter", () => {
    const find = trieOf("/:x/one", "/:x/two", "/:x/three")
    expect(find("/a/one")).toEqual(["/:x/one"])
    expect(find("/a/two")).toEqual(["/:x/two"])
    expect(find("/a/four")).toEqual([])
  })

  it("stores patterns apart whose special characters are encoded", () => {
    const find = trieOf("/:a", "/%3A", "/*", "/%2A", "/a*", "/a%2A")
    expect(find("/:")).toEqual(["/%3A", "/*", "/:a"])
    expect(find("/a*")).toEqual(["/*", "/:a", "/a%2A", "/a*"])
    expect(find("/ab")).toEqual(["/*", "/:a", "/a*"])
  })
})
