import { describe, expect, it } from "vitest"
import { finish } from "../language/steps.js"
import { parsePathPattern } from "./path-pattern.js"
import { PathTrie } from "./path-trie.js"

function trieOf(...patterns: string[]): (path: string) => string[] {
  const trie = finish(PathTrie.build(patterns.map((text, i) => [parsePathPattern(text, "path"), i])))
  return (path) =>
    trie
      .find(path)
      .map((i) => patterns[i] as string)
      .sort()
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

  it("tells a pattern once that matches at every place of a path", () => {
    expect(trieOf("/**/a/**", "/**/a/**/a/**")("/a".repeat(100)).length).toBe(2)
  })

  it("keeps apart the literals of a node from the first on", () => {
    const find = trieOf("/:x/one", "/:x/two", "/:x/three")
    expect(find("/a/one")).toEqual(["/:x/one"])
    expect(find("/a/two")).toEqual(["/:x/two"])
    expect(find("/a/four")).toEqual([])
  })
})
