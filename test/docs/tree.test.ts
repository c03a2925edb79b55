import { existsSync } from "node:fs"
import { expect, it } from "vitest"
import { fromRoot, readPage } from "./examples.js"

/** The paths of a tree that is drawn with two spaces per level and a comment after each name. */
function pathsIn(tree: string): string[] {
  const folders: string[] = []
  return tree
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => {
      const depth = (line.length - line.trimStart().length) / 2
      folders.length = depth
      folders.push(line.trim().split(/\s/)[0] as string)
      return folders.join("")
    })
}

it("CONTRIBUTING.md draws a tree of files and folders that exist", () => {
  const tree = /^## The tree\n+```text\n([\s\S]*?)```/m.exec(readPage("CONTRIBUTING.md"))?.[1] ?? ""
  const paths = pathsIn(tree)
  expect(paths).toContain("packages/sluice/src/algorithms/exact.ts")
  expect(paths.filter((path) => !existsSync(fromRoot(path)))).toEqual([])
})
