import { readdirSync, readFileSync } from "node:fs"
import { basename, dirname, join, normalize, relative } from "node:path"
import { parseSync } from "rolldown/utils"
import { describe, expect, it } from "vitest"
import { fromRoot } from "../docs/examples.js"
import { findCycle, type Import } from "./cycle.js"
import { layers } from "./layers.js"

/** Every import of one source file by another, dynamic imports and types included, as paths below src. */
function importsOf(packageName: string): Import[] {
  const src = fromRoot(`packages/${packageName}/src`)
  const files = readdirSync(src, { recursive: true, encoding: "utf8" })
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => /\.tsx?$/.test(file) && !/\.(?:test|test-support)\.tsx?$/.test(file))
  const known = new Set(files)
  return files.flatMap((from) => {
    const code = readFileSync(join(src, from), "utf8")
    return specifiersIn(from, code).flatMap((specifier) => {
      const target = normalize(join(dirname(from), specifier)).replace(/\.js$/, "")
      const to = [`${target}.ts`, `${target}.tsx`].find((file) => known.has(file))
      return to === undefined ? [] : [{ from, to }]
    })
  })
}

function specifiersIn(file: string, code: string): string[] {
  const { staticImports, staticExports, dynamicImports } = parseSync(file, code).module
  const reexports = staticExports.flatMap(({ entries }) =>
    entries.flatMap((entry) => entry.moduleRequest ?? []),
  )
  const fixed = [...staticImports.map(({ moduleRequest }) => moduleRequest), ...reexports].map(
    ({ value }) => value,
  )
  const dynamic = dynamicImports.map(({ moduleRequest: { start, end } }) => code.slice(start + 1, end - 1))
  return [...fixed, ...dynamic].filter((specifier) => specifier.startsWith("."))
}

/** A folder, or a file that counts as a folder of its own: one directly below src, and the entry of a room. */
function nodeOf(file: string): string {
  const folder = dirname(file)
  return folder === "." || /^(?:index|internal)\.tsx?$/.test(basename(file)) ? file : folder
}

/** The number of the layer that a file belongs to: that of the longest pattern that fits. */
function layerOf(packageName: string, file: string): number | undefined {
  const fitting = (layers[packageName] ?? [])
    .flatMap((patterns, layer) => patterns.map((pattern) => ({ pattern, layer })))
    .filter(({ pattern }) => file === pattern || file.startsWith(`${pattern}/`))
    .sort((a, b) => b.pattern.length - a.pattern.length)
  return fitting[0]?.layer
}

describe.each(["sluice", "server", "cli", "dashboard"])("packages/%s", (name) => {
  const imports = importsOf(name)

  it("has source files that import each other", () => {
    expect(imports.length).toBeGreaterThan(10)
  })

  it("has no import cycle between files", () => {
    expect(findCycle(imports)).toEqual([])
  })

  it("has no import cycle between folders", () => {
    const edges = imports
      .map(({ from, to }) => ({ from: nodeOf(from), to: nodeOf(to) }))
      .filter(({ from, to }) => from !== to)
    expect(findCycle(edges)).toEqual([])
  })
})

describe.each(Object.keys(layers))("packages/%s", (name) => {
  const imports = importsOf(name)

  it("puts every file into a layer", () => {
    const files = new Set(imports.flatMap(({ from, to }) => [from, to]))
    expect([...files].filter((file) => layerOf(name, file) === undefined)).toEqual([])
  })

  it("imports from its own layer or from lower ones", () => {
    const upward = imports.filter(({ from, to }) => Number(layerOf(name, to)) > Number(layerOf(name, from)))
    expect(upward.map(({ from, to }) => `${from} imports ${to}`)).toEqual([])
  })
})

describe("the packages", () => {
  it.each([
    ["sluice", /^(?:@sluice\/|sluice)/],
    ["dashboard", /^@sluice\//],
    ["server", /^@sluice\/(?!dashboard)/],
  ])("packages/%s imports no package that is built on it", (name, forbidden) => {
    const src = fromRoot(`packages/${name}/src`)
    const files = readdirSync(src, { recursive: true, encoding: "utf8" }).filter(
      (file) => /\.tsx?$/.test(file) && !/\.(?:test|test-support)\.tsx?$/.test(file),
    )
    const found = files.flatMap((file) => {
      const code = readFileSync(join(src, file), "utf8")
      return parseSync(file, code)
        .module.staticImports.map(({ moduleRequest }) => moduleRequest.value)
        .filter((specifier) => forbidden.test(specifier))
        .map((specifier) => `${relative(src, join(src, file))} imports ${specifier}`)
    })
    expect(found).toEqual([])
  })
})

describe("findCycle", () => {
  it("finds a cycle and names its nodes in order", () => {
    const edges = [
      { from: "a", to: "b" },
      { from: "b", to: "c" },
      { from: "c", to: "a" },
      { from: "c", to: "d" },
    ]
    expect(findCycle(edges)).toEqual(["a", "b", "c", "a"])
    expect(findCycle(edges.filter(({ to }) => to !== "a"))).toEqual([])
  })
})
