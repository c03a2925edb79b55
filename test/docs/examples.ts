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

/** The same application before and after a migration, and what both answer: lines `GET / → 200`. */
export interface Pair {
  readonly page: string
  readonly line: number
  readonly before: string
  readonly after: string
  readonly answers: readonly string[]
}

interface Block {
  readonly language: string
  /** The word after the language: ```ts before. */
  readonly label: string
  readonly line: number
  readonly content: string
}

/** The pages a user reads, from the root of the repository. */
export function pages(): string[] {
  const docs = readdirSync(fromRoot("docs"), { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".md"))
  const top = readdirSync(fromRoot(".")).filter((name) => name.endsWith(".md"))
  return [...top, ...docs.map((name) => `docs/${name}`), "packages/sluice/README.md"].sort()
}

export function readPage(page: string): string {
  return readFileSync(fromRoot(page), "utf8")
}

/** Every `ts` block without a label whose next block is `text`. */
export function examplesIn(page: string, markdown: string): Example[] {
  const blocks = blocksIn(markdown)
  return blocks.flatMap(({ language, label, line, content }, i) => {
    const next = blocks[i + 1]
    return language === "ts" && label === "" && next?.language === "text"
      ? [{ page, line, code: content, prints: next.content }]
      : []
  })
}

/** Every `ts before` block, with the `ts after` and `text` blocks that follow. */
export function pairsIn(page: string, markdown: string): Pair[] {
  const blocks = blocksIn(markdown)
  return blocks.flatMap(({ label, line, content: before }, i) => {
    const [after, answers] = blocks.slice(i + 1)
    if (label !== "before") return []
    if (after?.label !== "after" || answers?.language !== "text")
      throw new Error(`${page}:${line} needs a block "ts after" and a block "text" below`)
    return [{ page, line, before, after: after.content, answers: answers.content.split("\n") }]
  })
}

function blocksIn(markdown: string): Block[] {
  const blocks: Block[] = []
  let open: (Omit<Block, "content"> & { lines: string[] }) | undefined
  markdown.split("\n").forEach((text, i) => {
    const fence = /^```(\w*) ?(\w*)/.exec(text)
    if (open === undefined) {
      if (fence !== null) open = { language: fence[1] ?? "", label: fence[2] ?? "", line: i + 1, lines: [] }
    } else if (fence !== null) {
      const { lines, ...block } = open
      blocks.push({ ...block, content: lines.join("\n") })
      open = undefined
    } else open.lines.push(text)
  })
  return blocks
}
