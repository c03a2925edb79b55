// Runs the snippets of docs/install.md with the packed library. Commands that need the registry are compared with the package.

import { readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Packed, packSluice, root } from "./packed.js"
import { install, runFile, writeProject } from "./project.js"

const page = readFileSync(join(root, "docs/install.md"), "utf8")
const library = packageOf("packages/sluice")
const repository = packageOf(".")

interface Package {
  readonly name: string
  readonly version: string
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
}

function packageOf(folder: string): Package {
  return JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8")) as Package
}

function blocksOf(language: string): string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "gm"))].map(
    ([, block = ""]) => block,
  )
}

let packed: Packed

beforeAll(() => {
  packed = packSluice()
  install(packed, Object.keys(library.dependencies ?? {}))
}, 120_000)
afterAll(() => packed?.remove())

describe("docs/install.md", () => {
  it("names the package in the command of every package manager", () => {
    const [commands = ""] = blocksOf("sh")
    expect(commands.trim().split("\n")).toEqual([
      `npm install ${library.name}`,
      `pnpm add ${library.name}`,
      `bun add ${library.name}`,
      `deno add npm:${library.name}`,
    ])
  })

  it("builds and installs a file with the name that npm pack gives it", () => {
    const [, commands = ""] = blocksOf("sh")
    const [make = "", use = ""] = commands.trim().split("\n")
    expect(make).toBe(`npm ci --ignore-scripts && npm run build && npm pack --workspace=${library.name}`)
    expect(repository.scripts).toHaveProperty("build")
    const file = `${library.name}-${library.version}.tgz`
    expect(use).toMatch(new RegExp(`^npm install \\.\\./sluice/${file.replaceAll(".", "\\.")} `))
    expect(basename(packed.tarball)).toBe(file)
  })

  it.each([
    ["an ES module", 0, "index.mjs"],
    ["a CommonJS module", 1, "index.cjs"],
  ] as const)("loads the package from %s", (_kind, block, file) => {
    const code = blocksOf("js")[block] ?? ""
    const used = `${code}\nconsole.log(createLimiter({ limit: 1, window: "1m" }).checkSync("user:42").allowed)\n`
    const project = writeProject(packed, `project-${block}`, { [file]: used })
    expect(runFile(project, file)).toMatchObject({ status: 0, stdout: "true\n", stderr: "" })
  })

  it("has no other code than these snippets", () => {
    expect([blocksOf("sh").length, blocksOf("js").length, page.match(/^```\w/gm)?.length]).toEqual([2, 2, 4])
  })
})
