// Builds what changed: `node scripts/build.mjs` all of it, tests' types included; `node scripts/build.mjs packages/server` what that needs to run.

import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, rmSync } from "node:fs"
import { join, relative } from "node:path"
import { pathToFileURL } from "node:url"
import { buildDashboard } from "./build-dashboard.mjs"
import { buildLibrary } from "./build-library.mjs"
import { root } from "./root.mjs"

/** What the compiler makes of a source, and the name of the source. */
const COMPILED = /^(.+?)(?:\.d)?\.(?:js|ts)(?:\.map)?$/
const DECLARATIONS = /^(.+?)\.d\.ts(?:\.map)?$/

/**
 * @param {string} [packageFolder] build only this package and what it imports, without the tests
 * @returns {boolean} whether everything compiled, and was bundled
 */
export function build(packageFolder) {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc")
  const project = packageFolder ? join(packageFolder, "tsconfig.build.json") : "tsconfig.json"
  const { status } = spawnSync(process.execPath, [tsc, "-b", project], { cwd: root, stdio: "inherit" })
  for (const name of readdirSync(join(root, "packages"))) {
    // The library's JavaScript is not the compiler's: who bundles it also clears it up.
    removeOrphans(join(root, "packages", name), name === "sluice" ? DECLARATIONS : COMPILED)
  }
  // Everything runs on the library: the service, the command, and the page, which the service shows.
  const hasLibrary = buildLibrary()
  const hasPage = hasLibrary && buildDashboard()
  return status === 0 && hasPage
}

/**
 * The compiler leaves the output of a deleted source in place; it would be published and could still be imported.
 * @param {string} packageFolder
 * @param {RegExp} outputs
 */
function removeOrphans(packageFolder, outputs) {
  const dist = join(packageFolder, "dist")
  // What the compiler has not made it does not leave behind.
  if (!existsSync(join(dist, ".tsbuildinfo"))) return
  for (const file of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const output = join(file.parentPath, file.name)
    const compiled = outputs.exec(relative(dist, output))
    if (file.isFile() && compiled && !existsSync(join(packageFolder, "src", `${compiled[1]}.ts`)))
      rmSync(output)
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  process.exitCode = build(process.argv[2]) ? 0 : 1
}
