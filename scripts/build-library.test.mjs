import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import { buildLibrary } from "./build-library.mjs"
import { root } from "./root.mjs"

/** @type {string} */
let folder

const read = (path) => readFileSync(join(folder, path), "utf8")

function write(path, content) {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), content)
}

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sluice-library-"))
  const exports = {
    ".": { import: { default: "./dist/index.js" } },
    "./koa": { import: { default: "./dist/http/koa.js" } },
    "./package.json": "./package.json",
  }
  write("package.json", JSON.stringify({ type: "module", exports, peerDependencies: { koa: "*" } }))
  write("src/clock.ts", 'export const clock: string = "clock"\n')
  write("src/later.ts", 'export const later: string = "later"\n')
  write(
    "src/index.ts",
    'export { clock } from "./clock.js"\nexport const wait = () => import("./later.js")\n',
  )
  write(
    "src/http/koa.ts",
    'import Koa from "koa"\nimport { clock } from "../clock.js"\nexport const koa = [Koa, clock]\n',
  )
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

it("makes a file for each entry, and chunks for shared modules and dynamic imports", () => {
  expect(buildLibrary(folder)).toBe(true)
  expect(read("dist/index.js")).toContain('from "./chunks/core.js"')
  expect(read("dist/http/koa.js")).toContain('from "../chunks/core.js"')
  expect(read("dist/http/koa.js")).toContain('from "koa"')
  expect(read("dist/chunks/core.js")).toContain('"clock"')
  expect(read("dist/index.js")).toContain('import("./chunks/later.js")')
  expect(JSON.parse(read("dist/chunks/core.js.map")).sources).toEqual(["../../src/clock.ts"])
})

it("makes the same entries and chunks as CommonJS, with nothing that only ES modules have", () => {
  expect(buildLibrary(folder)).toBe(true)
  expect(read("dist/index.cjs")).toContain('require("./chunks/core.cjs")')
  expect(read("dist/http/koa.cjs")).toContain('require("koa")')
  expect(read("dist/index.cjs")).toContain('.then(() => require("./chunks/later.cjs"))')
  expect(JSON.parse(read("dist/chunks/core.cjs.map")).sources).toEqual(["../../src/clock.ts"])
})

it("makes declarations of CommonJS, which import each other", () => {
  const lines = [
    'import type { Koa } from "koa";',
    'export type { Clock } from "../clock.js";',
    'export declare const later: Promise<typeof import("./later.js")>;',
    "//# sourceMappingURL=koa.d.ts.map",
  ]
  write("dist/http/koa.d.ts", lines.join("\n"))
  write("dist/http/koa.d.ts.map", JSON.stringify({ file: "koa.d.ts", sources: ["../../src/http/koa.ts"] }))
  expect(buildLibrary(folder)).toBe(true)
  expect(read("dist/http/koa.d.cts").split("\n")).toEqual([
    'import type { Koa } from "koa";',
    'export type { Clock } from "../clock.cjs";',
    'export declare const later: Promise<typeof import("./later.cjs")>;',
    "//# sourceMappingURL=koa.d.cts.map",
  ])
  expect(JSON.parse(read("dist/http/koa.d.cts.map"))).toEqual({
    file: "koa.d.cts",
    sources: ["../../src/http/koa.ts"],
  })
})

it("bundles again only if the sources changed", () => {
  expect(buildLibrary(folder)).toBe(true)
  const { ino, mtimeMs } = statSync(join(folder, "dist/.sources"))
  expect(buildLibrary(folder)).toBe(true)
  expect(statSync(join(folder, "dist/.sources"))).toMatchObject({ ino, mtimeMs })
  write("src/clock.ts", 'export const clock: string = "another"\n')
  expect(buildLibrary(folder)).toBe(true)
  expect(read("dist/chunks/core.js")).toContain('"another"')
})

it("removes the JavaScript of earlier builds, replaces changed files, and keeps declarations", () => {
  const former = ["clock.js", "clock.js.map", "chunks/former.js", "chunks/former.cjs", "former.d.cts"]
  expect(buildLibrary(folder)).toBe(true)
  for (const path of [...former, "clock.d.ts"]) write(`dist/${path}`, "")
  write("dist/index.js", "")
  expect(buildLibrary(folder)).toBe(true)
  expect(former.filter((path) => existsSync(join(folder, "dist", path)))).toEqual([])
  expect(existsSync(join(folder, "dist/clock.d.ts"))).toBe(true)
  expect(read("dist/index.js")).toContain("clock")
})

it.each([
  ["does not parse", "export const = 1\n"],
  ["imports a file that does not exist", 'export { later } from "./latest.js"\n'],
  ["imports a package that the library does not depend on", 'export { z as later } from "zod"\n'],
])("fails when a source %s", (_what, source) => {
  // The bundler could find the package here, but must not look.
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"), "dir")
  expect(buildLibrary(folder)).toBe(true)
  write("src/later.ts", source)
  expect(buildLibrary(folder)).toBe(false)
  expect(buildLibrary(folder)).toBe(false)
})
