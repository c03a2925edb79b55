import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const root = new URL("../../", import.meta.url)

/** The full path of a file of the repository. */
export function fromRoot(path: string): string {
  return fileURLToPath(new URL(path, root))
}

/** A code block of a page that is followed by a block with what it prints. */
export interface Example {
  readonly page: string
  readonly line: number
  readonly code: string
  readonly prints: string
}

interface Block {
  readonly language: string
  readonly line: number
  readonly content: string
}

/** The pages a user reads, from the root of the repository. */
export function pages(): string[] {
  const docs = readdirSync(fromRoot("docs")).filter((name) => name.endsWith(".md"))
  const top = readdirSync(fromRoot(".")).filter((name) => name.endsWith(".md"))
  return [...top, ...docs.map((name) => `docs/${name}`)].sort()
}

export function readPage(page: string): string {
  return readFileSync(fromRoot(page), "utf8")
}

/** Every `ts` block whose next block is `text`. */
export function examplesIn(page: string, markdown: string): Example[] {
  const blocks = blocksIn(markdown)
  return blocks.flatMap(({ language, line, content }, i) => {
    const next = blocks[i + 1]
    return language === "ts" && next?.language === "text"
      ? [{ page, line, code: content, prints: next.content }]
      : []
  })
}

function blocksIn(markdown: string): Block[] {
  const blocks: Block[] = []
  let open: { language: string; line: number; lines: string[] } | undefined
  markdown.split("\n").forEach((text, i) => {
    const fence = /^```(\w*)/.exec(text)
    if (open === undefined) {
      if (fence !== null) open = { language: fence[1] ?? "", line: i + 1, lines: [] }
    } else if (fence !== null) {
      blocks.push({ language: open.language, line: open.line, content: open.lines.join("\n") })
      open = undefined
    } else open.lines.push(text)
  })
  return blocks
}
