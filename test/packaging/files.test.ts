// Every file that is loaded is opened, read and linked by itself, which takes longer than what is in it.

import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { parseSync } from "rolldown/utils"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Packed, packSluice, root } from "./packed.js"

const entries = (() => {
  const { exports } = JSON.parse(readFileSync(join(root, "packages/sluice/package.json"), "utf8"))
  return Object.entries<string | { default: string }>(exports).flatMap(([subpath, target]) =>
    typeof target === "string" ? [] : [[`sluice${subpath.slice(1)}`, target.default] as const],
  )
})()

let packed: Packed

beforeAll(() => {
  packed = packSluice()
}, 60_000)

afterAll(() => packed?.remove())

/** The files of the package that a file imports: at once, and later. */
function importsOf(file: string): { atOnce: string[]; later: string[] } {
  const code = readFileSync(file, "utf8")
  const { staticImports, staticExports, dynamicImports } = parseSync(file, code).module
  const again = staticExports.flatMap(({ entries }) => entries.flatMap((entry) => entry.moduleRequest ?? []))
  const named = dynamicImports.map(({ moduleRequest: { start, end } }) => code.slice(start + 1, end - 1))
  const ours = (names: string[]) =>
    names.filter((name) => name.startsWith(".")).map((name) => join(dirname(file), name))
  return {
    atOnce: ours(
      [...staticImports.map(({ moduleRequest }) => moduleRequest), ...again].map(({ value }) => value),
    ),
    later: ours(named),
  }
}

/** All files that are loaded with these, by their names in the package. */
function loadedBy(files: readonly string[], { alsoLater = false } = {}): string[] {
  const loaded = new Set(files.map((file) => join(packed.unpacked, file)))
  for (const file of loaded) {
    const { atOnce, later } = importsOf(file)
    for (const other of alsoLater ? [...atOnce, ...later] : atOnce) loaded.add(other)
  }
  return [...loaded].map((file) => relative(packed.unpacked, file)).sort()
}

describe.each(entries)("%s", (name, file) => {
  // Its own file and the chunks core and http. Rules have a chunk that siblings share, and may live in Redis.
  const most = /rules/.test(name) ? 5 : 3

  it(`loads at most ${most} files`, () => {
    const loaded = loadedBy([file])
    expect(loaded.length, loaded.join(", ")).toBeLessThanOrEqual(most)
  })
})

it("loads nothing of Redis for those who do not ask for it", () => {
  const redis = entries.filter(([, file]) => loadedBy([file]).some((loaded) => /redis/.test(loaded)))
  expect(redis.map(([name]) => name)).toEqual(["sluice/redis", "sluice/rules"])
})

it("loads what only waiting requests need when the first one waits", () => {
  expect(loadedBy(["dist/index.js"])).not.toContain("dist/chunks/wait-queue.js")
  expect(loadedBy(["dist/index.js"], { alsoLater: true })).toContain("dist/chunks/wait-queue.js")
})

it("ships no JavaScript that nothing loads", () => {
  const shipped = readdirSync(packed.unpacked, { recursive: true, encoding: "utf8" })
  const files = entries.map(([, file]) => file)
  expect(shipped.filter((file) => file.endsWith(".js")).sort()).toEqual(loadedBy(files, { alsoLater: true }))
})
