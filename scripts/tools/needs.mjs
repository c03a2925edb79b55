// Finds out which test files need which tools, from their sources: a file needs a tool if it, or a file that it imports, calls
// `toolPath` with the name of the tool.

import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve, sep } from "node:path"
import { root } from "../root.mjs"

const TEST_FILE = /\.test\.(ts|mjs)$/
const CALL = /\btoolPath\("([^"]+)"\)/g
const IMPORT = /\b(?:from|import)\s*\(?\s*"(\.[^"]+)"/g

/** The paths of all test files, relative to the root of the repository. @param {string} [folder] */
export function testFiles(folder = root) {
  /** @type {string[]} */
  const files = []
  const visit = (/** @type {string} */ place) => {
    for (const entry of readdirSync(place, { withFileTypes: true })) {
      const path = join(place, entry.name)
      if (entry.isDirectory()) {
        if (!["node_modules", "dist"].includes(entry.name) && !entry.name.startsWith(".")) visit(path)
      } else if (TEST_FILE.test(entry.name)) files.push(relative(folder, path).split(sep).join("/"))
    }
  }
  visit(folder)
  return files.sort()
}

/**
 * The tools that each of these files needs.
 * @param {readonly string[]} files @param {string} [folder]
 * @returns {Map<string, Set<string>>}
 */
export function toolsOf(files, folder = root) {
  /** @type {Map<string, { tools: string[], imports: string[] }>} */
  const known = new Map()
  const read = (/** @type {string} */ path) => {
    const file = known.get(path)
    if (file !== undefined) return file
    const text = readFileSync(path, "utf8")
    const parsed = {
      tools: [...text.matchAll(CALL)].map(([, name = ""]) => name),
      imports: [...text.matchAll(IMPORT)].flatMap(
        ([, to = ""]) => sourceOf(resolve(dirname(path), to)) ?? [],
      ),
    }
    known.set(path, parsed)
    return parsed
  }
  return new Map(
    files.map((file) => {
      const tools = new Set()
      const reached = new Set([join(folder, file)])
      for (const path of reached) {
        const { tools: called, imports } = read(path)
        for (const name of called) tools.add(name)
        for (const next of imports) reached.add(next)
      }
      return [file, tools]
    }),
  )
}

/** The source of an imported file: TypeScript imports `x.ts` as `x.js`. @param {string} path */
function sourceOf(path) {
  const candidates = [path.replace(/\.js$/, ".ts"), path.replace(/\.js$/, ".tsx"), path]
  return candidates.find((candidate) => /\.(ts|tsx|mjs)$/.test(candidate) && existsSync(candidate))
}

/**
 * The test files that the arguments of vitest select: those whose path contains one of the words. A word after an option may be
 * the value of the option, so it is ignored. Without words, all files are selected.
 *
 * @param {readonly string[]} files @param {readonly string[]} args
 */
export function selectedFiles(files, args) {
  const words = args.filter((word, i) => !word.startsWith("-") && !(args[i - 1] ?? "").startsWith("-"))
  const isMeant = (/** @type {string} */ file) =>
    words.some((word) => file.includes(word.replace(/^\.\//, "")) || join(root, file).startsWith(word))
  return words.length === 0 ? files : files.filter(isMeant)
}
