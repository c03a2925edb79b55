import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { publint } from "publint"
import { formatMessage } from "publint/utils"
import { afterAll, beforeAll, expect, it } from "vitest"
import { type Packed, packSluice, runTool } from "./packed.js"

let packed: Packed
let files: string[]

beforeAll(() => {
  packed = packSluice()
  files = readdirSync(packed.unpacked, { recursive: true, encoding: "utf8" })
}, 60_000)

afterAll(() => packed?.remove())

it("ships the licence and the code, and neither tests nor build records", () => {
  expect(files).toEqual(
    expect.arrayContaining(["LICENSE", "package.json", "dist/index.js", "dist/index.d.ts"]),
  )
  expect(files.filter((file) => /\.test\.|tsbuildinfo|tsconfig|\.sources$/.test(file))).toEqual([])
})

it("ships every source that a source map names, so that a debugger and go-to-definition find it", () => {
  const maps = files.filter((file) => file.endsWith(".map"))
  expect(maps.length).toBeGreaterThan(0)
  for (const map of maps) {
    const path = join(packed.unpacked, map)
    const { sources } = JSON.parse(readFileSync(path, "utf8")) as { sources: string[] }
    for (const source of sources)
      expect(existsSync(join(dirname(path), source)), `${map} → ${source}`).toBe(true)
  }
})

it("has nothing that publint would change", async () => {
  const { messages, pkg } = await publint({ pkgDir: packed.unpacked, pack: false, strict: true })
  expect(messages.map((message) => formatMessage(message, pkg, { color: false }))).toEqual([])
})

it("gives every module system and every resolution of TypeScript the right types", () => {
  runTool(
    "@arethetypeswrong/cli/dist/index.js",
    [packed.tarball, "--profile", "strict", "--no-emoji", "--no-color"],
    packed.folder,
  )
})
