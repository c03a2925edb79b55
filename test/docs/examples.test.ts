import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { format } from "node:util"
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from "vitest"
import { type Example, examplesIn, fromRoot, pages, readPage } from "./examples.js"

// The examples' own folder for temporary files, which their output shows as /tmp.
const folder = realpathSync(mkdtempSync(join(tmpdir(), "sluice-docs-")))
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

/** The settings of the repository, for files outside of it. */
function strictSettings() {
  return {
    extends: fromRoot("tsconfig.base.json"),
    compilerOptions: {
      noEmit: true,
      composite: false,
      declaration: false,
      declarationMap: false,
      types: ["node"],
      typeRoots: [fromRoot("node_modules/@types")],
      paths: sources("sluice"),
    },
    include: ["*.ts"],
  }
}

/** Where the compiler finds a package's sources by each name that users import. */
function sources(name: string): Record<string, string[]> {
  const manifest = JSON.parse(readFileSync(fromRoot(`packages/${name}/package.json`), "utf8"))
  return Object.fromEntries(
    Object.entries<string | { default: string }>(manifest.exports).flatMap(([subpath, target]) => {
      if (typeof target === "string") return []
      const source = target.default.replace("./dist/", "src/").replace(/\.js$/, ".ts")
      return [[name + subpath.slice(1), [fromRoot(`packages/${name}/${source}`)]]]
    }),
  )
}

const examples = pages().flatMap((page) => examplesIn(page, readPage(page)))

describe.each(examples)("$page, the example in line $line", ({ code, prints }: Example) => {
  it("prints what the page says", async () => {
    expect(await run(code)).toBe(prints)
  })
})

describe("the examples of the pages", () => {
  it("compile under the strict settings, but for the mistakes in docs/errors.md", () => {
    const project = join(folder, "types")
    mkdirSync(project)
    writeFileSync(join(project, "package.json"), '{ "type": "module" }')
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify(strictSettings()))
    for (const { page, line, code } of examples) {
      if (page !== "docs/errors.md")
        writeFileSync(join(project, `${page.replaceAll(/\W/g, "-")}-line-${line}.ts`), code)
    }
    const tsc = fromRoot("node_modules/typescript/bin/tsc")
    const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", project], { encoding: "utf8" })
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" })
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
})
