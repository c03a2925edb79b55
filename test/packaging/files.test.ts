// What each entry of the package loads. Every file is opened, read and linked by itself, which takes longer than what is in it.

import { readdirSync, readFileSync } from "node:fs"
import { isBuiltin } from "node:module"
import { dirname, join, relative } from "node:path"
import { parseSync } from "rolldown/utils"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Packed, packSluice, root } from "./packed.js"

interface Entry {
  readonly name: string
  readonly file: string
}

/** Every subpath, as `import` and as `require` find it. */
const { imported, required } = (() => {
  const { exports } = JSON.parse(readFileSync(join(root, "packages/sluice/package.json"), "utf8"))
  const modules = Object.entries<string | Record<"import" | "require", { default: string }>>(exports)
  const entriesFor = (condition: "import" | "require"): Entry[] =>
    modules.flatMap(([subpath, target]) =>
      typeof target === "string"
        ? []
        : [{ name: `sluice${subpath.slice(1)}`, file: target[condition].default }],
    )
  return { imported: entriesFor("import"), required: entriesFor("require") }
})()

let packed: Packed

beforeAll(() => {
  packed = packSluice()
}, 60_000)

afterAll(() => packed?.remove())

interface Imports {
  /** Names of files and packages. */
  readonly atOnce: readonly string[]
  readonly later: readonly string[]
}

/** What a file of the package imports or requires. */
function importsOf(file: string): Imports {
  const code = readFileSync(file, "utf8")
  return file.endsWith(".cjs") ? requiresOf(code) : esmImportsOf(file, code)
}

/** The bundler writes a `require` of the start into a line of its own, and one that runs later into a `then`. */
function requiresOf(code: string): Imports {
  const all = [...code.matchAll(/(\.then\(.*)?\brequire\("([^"]+)"\)/g)]
  const named = (isLater: boolean) =>
    all.filter(([, later]) => (later !== undefined) === isLater).map(([, , name]) => name as string)
  return { atOnce: named(false), later: named(true) }
}

function esmImportsOf(file: string, code: string): Imports {
  const { staticImports, staticExports, dynamicImports } = parseSync(file, code).module
  const again = staticExports.flatMap(({ entries }) => entries.flatMap((entry) => entry.moduleRequest ?? []))
  const named = dynamicImports.map(({ moduleRequest: { start, end } }) => code.slice(start + 1, end - 1))
  return {
    atOnce: [...staticImports.map(({ moduleRequest }) => moduleRequest), ...again].map(({ value }) => value),
    later: named,
  }
}

interface Loaded {
  /** The files that are loaded with an entry, by their names in the package. */
  readonly files: readonly string[]
  /** The packages that they import. */
  readonly packages: readonly string[]
  /** The modules of Node that they import. */
  readonly builtins: readonly string[]
}

function loadedBy(entries: readonly Entry[], { alsoLater = false } = {}): Loaded {
  const files = new Set(entries.map(({ file }) => join(packed.unpacked, file)))
  const packages = new Set<string>()
  const builtins = new Set<string>()
  for (const file of files) {
    const { atOnce, later } = importsOf(file)
    for (const name of alsoLater ? [...atOnce, ...later] : atOnce) {
      if (name.startsWith(".")) files.add(join(dirname(file), name))
      else if (isBuiltin(name)) builtins.add(name)
      else packages.add(name)
    }
  }
  return {
    files: [...files].map((file) => relative(packed.unpacked, file)).sort(),
    packages: [...packages].sort(),
    builtins: [...builtins].sort(),
  }
}

describe.each([
  ["import", imported, "js"],
  ["require", required, "cjs"],
] as const)("with %s", (_how, entries, extension) => {
  const main = entries.filter(({ name }) => name === "sluice")
  const waitQueue = `dist/chunks/wait-queue.${extension}`

  it.each(entries)("$name loads few files", (entry) => {
    // Its own file and the chunks core and http. Rules have a chunk that siblings share, and may live in Redis.
    const most = /rules/.test(entry.name) ? 6 : 4
    const { files } = loadedBy([entry])
    expect(files.length, files.join(", ")).toBeLessThanOrEqual(most)
  })

  it("loads nothing of Redis for those who do not ask for it", () => {
    const redis = entries.filter((entry) => loadedBy([entry]).files.some((file) => /redis/.test(file)))
    expect(redis.map(({ name }) => name)).toEqual(["sluice/redis", "sluice/rules"])
  })

  it("loads zod and yaml with sluice/rules only, and no package but Nest with anything else", () => {
    const loaded = entries.map((entry) => [entry.name, loadedBy([entry]).packages] as const)
    expect(Object.fromEntries(loaded.filter(([, packages]) => packages.length > 0))).toEqual({
      "sluice/internal/rules": ["yaml", "zod"],
      "sluice/nest": ["@nestjs/common", "@nestjs/core"],
      "sluice/rules": ["yaml", "zod"],
    })
  })

  it("loads modules of Node only where they are needed, and with sluice/rules only those that Workers have", () => {
    const loaded = entries.map((entry) => [entry.name, loadedBy([entry]).builtins] as const)
    expect(Object.fromEntries(loaded.filter(([, builtins]) => builtins.length > 0))).toEqual({
      "sluice/internal/rules": ["node:crypto"],
      "sluice/node": ["node:http"],
      "sluice/redis": ["node:crypto"],
      "sluice/rules": ["node:crypto", "node:fs", "node:os", "node:path", "node:timers/promises"],
    })
  })

  it("loads what only waiting requests need when the first one waits", () => {
    expect(loadedBy(main).files).not.toContain(waitQueue)
    expect(loadedBy(main, { alsoLater: true }).files).toContain(waitQueue)
  })

  it("ships no JavaScript that nothing loads", () => {
    const shipped = readdirSync(packed.unpacked, { recursive: true, encoding: "utf8" })
    const { files } = loadedBy(entries, { alsoLater: true })
    expect(shipped.filter((file) => file.endsWith(`.${extension}`)).sort()).toEqual(files)
  })
})
