import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { describe, expect, it } from "vitest"
import { fromRoot, pages, readPage } from "./examples.js"

interface Link {
  readonly target: string
  readonly file: string
  readonly anchor: string | undefined
}

/** The links and pictures of a page that lead into the repository. */
function linksIn(page: string): Link[] {
  const prose = readPage(page).replaceAll(/^```[\s\S]*?^```/gm, "")
  const targets = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => match[1] as string)
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path, anchor] = target.split("#") as [string, string | undefined]
      return { target, file: path === "" ? page : join(dirname(page), path), anchor }
    })
}

/** The anchors that a Markdown page has for its headings. */
function anchorsIn(page: string): string[] {
  const headings = [...readPage(page).matchAll(/^#+ (.+)$/gm)].map((match) => match[1] as string)
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  )
}

describe.each(pages())("%s", (page) => {
  it("links to files and headings that exist", () => {
    const broken = linksIn(page).filter(({ file, anchor }) => {
      if (!existsSync(fromRoot(file))) return true
      return anchor !== undefined && !anchorsIn(file).includes(anchor)
    })
    expect(broken.map((link) => link.target)).toEqual([])
  })
})
