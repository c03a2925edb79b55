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

it("gives every module system that Node has the right types", () => {
  // cjs-resolves-to-esm is ignored because require() of an ES module works on every Node this package supports (≥ 20.19);
  // consumers.test.ts does it for real. The node16 profile leaves out only the resolution that knows no "exports": it
  // belongs to Node 10, and TypeScript dropped it.
  const options = ["--profile", "node16", "--ignore-rules", "cjs-resolves-to-esm", "--no-emoji", "--no-color"]
  runTool("@arethetypeswrong/cli/dist/index.js", [packed.tarball, ...options], packed.folder)
}, 30_000)
