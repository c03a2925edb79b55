import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "vitest"
import { commandErrorCodes } from "../../packages/cli/src/command.js"
import { serverErrorCodes } from "../../packages/server/src/errors.js"
import { errorCodes } from "../../packages/sluice/src/errors.js"
import { fromRoot, readPage } from "./examples.js"

const tables: [source: string, declaredIn: string, codes: Readonly<Record<string, string>>][] = [
  ["packages/sluice/src", "errors.ts", errorCodes],
  ["packages/server/src", "errors.ts", serverErrorCodes],
  ["packages/cli/src", "command.ts", commandErrorCodes],
]

describe.each(tables)("the error codes of %s", (source, declaredIn, table) => {
  const files = readdirSync(fromRoot(source), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".ts") && !/\.test(-support)?\.ts$/.test(file))
    .map((file) => [file, readFileSync(fromRoot(`${source}/${file}`), "utf8")] as const)

  it.each(Object.keys(table))("has %s because the package throws it", (code) => {
    expect(files.some(([, text]) => text.includes(`"${code}"`))).toBe(true)
  })

  it("says what each means in a sentence", () => {
    for (const meaning of Object.values(table)) expect(meaning).toMatch(/^[A-Z].*\.$/)
    expect(files.map(([file]) => file)).toContain(declaredIn)
  })
})

describe("docs/errors.md", () => {
  const codes = tables.flatMap(([, , table]) => Object.keys(table))
  const headings = [...readPage("docs/errors.md").matchAll(/^### (.+)$/gm)].map((match) => match[1] as string)

  it.each(codes)("explains %s", (code) => {
    expect(headings).toContain(code)
  })

  it("explains no code that does not exist, and none twice", () => {
    expect(headings.filter((heading) => !codes.includes(heading))).toEqual([])
    expect(headings.length).toBe(new Set(headings).size)
  })

  it("belongs to one package each", () => {
    expect(codes.length).toBe(new Set(codes).size)
  })
})
