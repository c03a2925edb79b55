import { describe, expect, it } from "vitest"
import { hashOfPath, PathScan, segmentsOf } from "./path-scan.js"
import { hashFromStart } from "./text-hash.js"

describe("a scan of a path", () => {
  it.each([
    ["", "/"],
    ["/", "/"],
    ["/a", "/a"],
    ["/a/", "/a"],
    ["/a/b/", "/a/b"],
    ["//a//b", "/a/b"],
    ["/A/b", "/a/b"],
    ["/a;v=1/b", "/a/b"],
    ["/a/;v=1", "/a"],
    ["/a%2Bb", "/a+b"],
    ["/a%2Fb", "/a%2fb"],
    ["a/b", "/a/b"],
  ])("gives %j the form %j, and that the same", (path, compared) => {
    const scan = new PathScan()
    expect(scan.comparedFormOf(path)).toBe(compared)
    expect(scan.comparedFormOf(compared)).toBe(compared)
  })

  it("knows where the segments are, and their hashes", () => {
    const scan = new PathScan()
    scan.see("/ab/c/def")
    expect([...scan.starts.slice(0, scan.count + 1)]).toEqual([1, 4, 6, 10])
    expect([...scan.hashes.slice(0, scan.count)]).toEqual(["ab", "c", "def"].map(hashFromStart))
  })

  it("has no segments for the root", () => {
    expect(segmentsOf("/a")).toEqual(["a"])
    expect(segmentsOf("/")).toEqual([])
  })

  it("has room for as many segments as there are", () => {
    const many = Array.from({ length: 5_000 }, (_, i) => `s${i}`)
    expect(segmentsOf(`/${many.join("/")}`)).toEqual(many)
    expect(segmentsOf("/a".repeat(5_000))).toEqual(Array(5_000).fill("a"))
  })

  it("is not misled by a path that was given up half way", () => {
    const scan = new PathScan()
    scan.see("/ab/c")
    scan.comparedFormOf("/x/y/z/A")
    scan.see("/ab/c")
    expect(scan.count).toBe(2)
    expect([...scan.hashes.slice(0, 2)]).toEqual(["ab", "c"].map(hashFromStart))
  })

  it("tells apart paths that differ in where their segments end", () => {
    expect(hashOfPath("/ab/c")).not.toBe(hashOfPath("/a/bc"))
  })
})
