import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { format } from "node:util"
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { compile, makeProject } from "./compile.js"
import { type Example, examplesIn, pages, pairsIn, readPage } from "./examples.js"

// The examples' own folder for temporary files, which their output shows as /tmp.
const folder = makeProject(realpathSync(mkdtempSync(join(tmpdir(), "sluice-docs-"))))
let written = 0

beforeEach(() => {
  vi.stubEnv("TMPDIR", folder)
  vi.stubEnv("TEMP", folder)
})

afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

afterAll(() => rmSync(folder, { recursive: true }))

/** Runs an example as a module of its own and returns what it printed; the error that ended it, if any, comes last. */
async function run(code: string): Promise<string> {
  const lines: string[] = []
  vi.spyOn(console, "log").mockImplementation((...values) => lines.push(format(...values)))
  const file = join(folder, `example-${++written}.ts`)
  writeFileSync(file, code)
  try {
    await import(/* @vite-ignore */ file)
  } catch (error) {
    lines.push(String(error))
  }
  return lines.join("\n").replaceAll(folder, "/tmp")
}

const examples = pages().flatMap((page) => examplesIn(page, readPage(page)))

describe.each(examples)("$page, the example in line $line", ({ code, prints }: Example) => {
  it("prints what the page says", async () => {
    expect(await run(code)).toBe(prints)
  })
})

describe("the examples of the pages", () => {
  it("compile under the strict settings, but for the mistakes in docs/errors.md", () => {
    const project = makeProject(join(folder, "types"))
    for (const { page, line, code } of examples) {
      if (page !== "docs/errors.md")
        writeFileSync(join(project, `${page.replaceAll(/\W/g, "-")}-line-${line}.ts`), code)
    }
    expect(compile(project)).toEqual({ status: 0, stdout: "" })
  }, 30_000)

  it("are found", () => {
    expect(examples.length).toBeGreaterThan(10)
  })

  it("are ts blocks followed by a text block, whatever stands between", () => {
    const page = "```ts\nfirst()\n```\nprints\n```text\n1\n2\n```\n```ts\nno output\n```\n```sh\nls\n```\n"
    expect(examplesIn("page.md", page)).toEqual([
      { page: "page.md", line: 1, code: "first()", prints: "1\n2" },
    ])
  })

  it("are no pairs, which have a label", () => {
    const page = "```ts before\nold()\n```\nand\n```ts after\nnew()\n```\n```text\na → 1\nb → 2\n```\n"
    expect(examplesIn("page.md", page)).toEqual([])
    expect(pairsIn("page.md", page)).toEqual([
      { page: "page.md", line: 1, before: "old()", after: "new()", answers: ["a → 1", "b → 2"] },
    ])
    expect(() => pairsIn("page.md", page.replace("after", "afterwards"))).toThrow("page.md:1 needs")
  })
})
