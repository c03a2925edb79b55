import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { generateAll } from "./generate.mjs"

let base

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), "sluice-generate-"))
  mkdirSync(join(base, "generate"))
  mkdirSync(join(base, "docs"))
})

afterEach(() => rmSync(base, { recursive: true }))

function generator(name, outputs) {
  writeFileSync(join(base, "generate", name), `export const generate = () => (${JSON.stringify(outputs)})`)
}

it("reports a file as stale if it is missing or differs from the output of its generator", async () => {
  generator("picture.mjs", {
    "docs/same.svg": "<svg/>",
    "docs/old.svg": "<svg/>",
    "docs/missing.svg": "<svg/>",
  })
  writeFileSync(join(base, "docs/same.svg"), "<svg/>")
  writeFileSync(join(base, "docs/old.svg"), "<svg></svg>")
  const files = await generateAll(join(base, "generate"), base)
  expect(files.map(({ path, generator, stale }) => [path, generator, stale])).toEqual([
    ["docs/same.svg", "picture.mjs", false],
    ["docs/old.svg", "picture.mjs", true],
    ["docs/missing.svg", "picture.mjs", true],
  ])
})

it("writes no files", async () => {
  generator("picture.mjs", { "docs/missing.svg": "<svg/>" })
  await generateAll(join(base, "generate"), base)
  expect(readdirSync(join(base, "docs"))).toEqual([])
})

it("throws for an output that is not a string", async () => {
  generator("picture.mjs", { "docs/number.svg": 1 })
  await expect(generateAll(join(base, "generate"), base)).rejects.toThrow(
    "picture.mjs: the content of docs/number.svg",
  )
})
