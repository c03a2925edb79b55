import { spawnSync } from "node:child_process"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { type Packed, root, runTool } from "./packed.js"

/** A project of a user's, beside the unpacked package. Returns its folder. */
export function writeProject(
  packed: Packed,
  name: string,
  files: Readonly<Record<string, string | object>>,
): string {
  const folder = join(packed.folder, name)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), typeof content === "string" ? content : JSON.stringify(content))
  }
  return folder
}

/** Puts packages that are installed here in reach of every project. */
export function install(packed: Packed, names: readonly string[]): void {
  for (const name of names) {
    const link = join(packed.folder, "node_modules", name)
    mkdirSync(dirname(link), { recursive: true })
    symlinkSync(join(root, "node_modules", name), link, "dir")
  }
}

export function runFile(folder: string, file: string) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
    cwd: folder,
    encoding: "utf8",
    // On a busy machine a second takes 20.
    timeout: 55_000,
  })
  return { status, stdout, stderr }
}

/** Compiles all sources, as one program, into `out/`. Declarations of packages are checked too, unless the options say otherwise. */
export function compileProject(
  packed: Packed,
  name: string,
  sources: Readonly<Record<`${string}.${"ts" | "mts" | "cts"}`, string>>,
  type: "module" | "commonjs",
  options: object,
): string {
  const folder = writeProject(packed, name, {
    "package.json": { private: true, type },
    ...sources,
    "tsconfig.json": {
      compilerOptions: {
        target: "ES2023",
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        outDir: "out",
        rootDir: ".",
        ...options,
      },
      files: Object.keys(sources),
    },
  })
  runTool("typescript/bin/tsc", ["-p", folder], folder)
  return folder
}

/** What projects on Node have: its types, and not those of a browser. */
export const ON_NODE = {
  lib: ["ES2023"],
  types: ["node"],
  typeRoots: [join(root, "node_modules/@types")],
} as const
