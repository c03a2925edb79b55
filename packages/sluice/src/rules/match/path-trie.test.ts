import { describe, expect, it } from "vitest"
import { segmentsOf } from "./path-form.js"
import { parsePathPattern } from "./path-pattern.js"
import { PathTrie } from "./path-trie.js"

function trieOf(...patterns: string[]): PathTrie<string> {
  return new PathTrie(patterns.map((text) => [parsePathPattern(text, "path"), text]))
}

function find(trie: PathTrie<string>, compared: string): string[] {
  return trie.find({ compared, segments: segmentsOf(compared) }).sort()
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
  const trie = trieOf(...patterns)

  it.each([
    ["/", ["/", "/**"]],
    ["/a", ["/**", "/**/a", "/**/a/**", "/a", "/a/**"]],
    ["/b", ["/**"]],
    ["/a/b", ["/**", "/**/a/**", "/:x/**/b", "/a/**", "/a/:x", "/a/b", "/a/b*"]],
    ["/a/a", ["/**", "/**/a", "/**/a/**", "/**/a/**/a/**", "/a/**", "/a/:x"]],
    ["/c/d/b", ["/**", "/:x/**/b"]],
  ])("finds for %s each pattern that matches, once", (path, expected) => {
    expect(find(trie, path)).toEqual(expected)
    // Nothing is left over from the walk before.
    expect(find(trie, path)).toEqual(expected)
  })

  it("tells a pattern once that matches at every place of a path", () => {
    expect(find(trieOf("/**/a/**", "/**/a/**/a/**"), "/a".repeat(100)).length).toBe(2)
  })

  it("keeps apart the literals of a node from the first on", () => {
    const many = trieOf("/:x/one", "/:x/two", "/:x/three")
    expect(find(many, "/a/one")).toEqual(["/:x/one"])
    expect(find(many, "/a/two")).toEqual(["/:x/two"])
    expect(find(many, "/a/four")).toEqual([])
  })
})
