import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fromRoot } from "./examples.js"

/** Makes a folder for examples. Their modules find the packages of the repository. */
export function makeProject(folder: string): string {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }')
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(strictSettings()))
  symlinkSync(fromRoot("node_modules"), join(folder, "node_modules"), "junction")
  return folder
}

/** Compiles all files of a folder under the strict settings. */
export function compile(folder: string): { status: number | null; stdout: string } {
  const tsc = fromRoot("node_modules/typescript/bin/tsc")
  const { status, stdout } = spawnSync(process.execPath, [tsc, "-p", folder], { encoding: "utf8" })
  return { status, stdout }
}

/** The settings of the repository, for files outside of it. */
function strictSettings() {
  return {
    extends: fromRoot("tsconfig.base.json"),
    compilerOptions: {
      noEmit: true,
      composite: false,
      declaration: false,
      declarationMap: false,
      // For nest.
      experimentalDecorators: true,
      types: ["node"],
      typeRoots: [fromRoot("node_modules/@types")],
      paths: sources("sluice"),
    },
    include: ["*.ts"],
  }
}

/** What `exports` of a package.json has for a subpath: a file, or a module, which also exists as CommonJS. */
type Target = string | { import: { default: string } }

/** Where the compiler finds a package's sources by each name that users import. */
function sources(name: string): Record<string, string[]> {
  const manifest = JSON.parse(readFileSync(fromRoot(`packages/${name}/package.json`), "utf8"))
  return Object.fromEntries(
    Object.entries<Target>(manifest.exports).flatMap(([subpath, target]) => {
      if (typeof target === "string") return []
      const source = target.import.default.replace("./dist/", "src/").replace(/\.js$/, ".ts")
      return [[name + subpath.slice(1), [fromRoot(`packages/${name}/${source}`)]]]
    }),
  )
}
