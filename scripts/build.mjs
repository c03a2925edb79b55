// Builds what has changed.
//   node scripts/build.mjs                  everything, and checks the types of the tests
//   node scripts/build.mjs packages/server  this package and the packages that it imports

import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, rmSync } from "node:fs"
import { join, relative } from "node:path"
import { pathToFileURL } from "node:url"
import { buildDashboard } from "./build-dashboard.mjs"
import { buildLibrary } from "./build-library.mjs"
import { root } from "./root.mjs"

/** Matches the output of the compiler. The group is the name of the source without its extension. */
const COMPILED = /^(.+?)(?:\.d)?\.(?:js|ts)(?:\.map)?$/
const DECLARATIONS = /^(.+?)\.d\.ts(?:\.map)?$/

/**
 * @param {string} [packageFolder] build only this package and the packages that it imports, without tests
 * @returns {boolean} whether all steps succeeded
 */
export function build(packageFolder) {
  const tsc = join(root, "node_modules", "typescript", "bin", "tsc")
  const project = packageFolder ? join(packageFolder, "tsconfig.build.json") : "tsconfig.json"
  const { status } = spawnSync(process.execPath, [tsc, "-b", project], { cwd: root, stdio: "inherit" })
  for (const name of readdirSync(join(root, "packages"))) {
    // The bundler makes the JavaScript of the library and removes old files itself.
    removeOrphans(join(root, "packages", name), name === "sluice" ? DECLARATIONS : COMPILED)
  }
  const isLibraryBuilt = buildLibrary()
  const isDashboardBuilt = isLibraryBuilt && buildDashboard()
  return status === 0 && isDashboardBuilt
}

/**
 * Removes the output of sources that were deleted. The compiler leaves it, and it would be published and could be imported.
 * @param {string} packageFolder
 * @param {RegExp} outputs
 */
function removeOrphans(packageFolder, outputs) {
  const dist = join(packageFolder, "dist")
  // Without this file, dist was not made by the compiler.
  if (!existsSync(join(dist, ".tsbuildinfo"))) return
  for (const file of readdirSync(dist, { recursive: true, withFileTypes: true })) {
    const output = join(file.parentPath, file.name)
    const compiled = outputs.exec(relative(dist, output))
    if (file.isFile() && compiled && !existsSync(join(packageFolder, "src", `${compiled[1]}.ts`)))
      // Another build may remove it at the same time.
      rmSync(output, { force: true })
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  process.exitCode = build(process.argv[2]) ? 0 : 1
}
