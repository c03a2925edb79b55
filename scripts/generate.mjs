// Writes the files that are generated from other files and committed.
//   npm run generate             writes the files that changed
//   npm run generate -- --check  writes nothing, and fails with the name of each outdated file
//
// Each scripts/generate/*.mjs is a generator. It exports `generate()`, which returns an object, or a promise of one, that maps
// paths from the root of the repository to contents. It writes no files itself. The build runs first, so a generator may import
// from packages/*/dist. The same input must give the same bytes: no dates, no random numbers.

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { root } from "./root.mjs"

/**
 * @param {string} folder the folder of the generators
 * @param {string} base the folder that their paths are relative to
 * @returns {Promise<{ path: string, content: string, generator: string, stale: boolean }[]>}
 */
export async function generateAll(folder, base) {
  const files = []
  for (const generator of generatorsIn(folder)) {
    const { generate } = await import(pathToFileURL(join(folder, generator)).href)
    for (const [path, content] of Object.entries(await generate())) {
      if (typeof content !== "string")
        throw new TypeError(`${generator}: the content of ${path} must be a string`)
      const target = join(base, path)
      const stale = !existsSync(target) || readFileSync(target, "utf8") !== content
      files.push({ path, content, generator, stale })
    }
  }
  return files
}

/** @param {string} folder */
function generatorsIn(folder) {
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith(".mjs") && !name.endsWith(".test.mjs"))
    .sort()
}

async function main() {
  const check = process.argv.includes("--check")
  const files = await generateAll(join(root, "scripts", "generate"), root)
  const stale = files.filter((file) => file.stale)
  for (const { path, content, generator } of stale) {
    if (check) {
      console.error(
        `${path} is outdated: scripts/generate/${generator} generates another content. Run: npm run generate`,
      )
      continue
    }
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), content)
    console.log(`wrote ${path}`)
  }
  if (check && stale.length > 0) process.exitCode = 1
  else console.log(`${files.length} generated ${files.length === 1 ? "file is" : "files are"} up to date`)
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main()
