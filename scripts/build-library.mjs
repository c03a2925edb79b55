// Bundles packages/sluice into its dist, unless the bundles there were made from the same sources: ES modules (.js) and, beside
// them, CommonJS modules (.cjs, .d.cts). The compiler makes only the declarations of the ES modules: with one JavaScript file for
// each module, an application spent more time opening files than reading them.

import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { filesIn, hashOfFiles, readIfExists } from "./files.mjs"
import { root } from "./root.mjs"

const self = fileURLToPath(import.meta.url)
/** A file in dist with the hashes of the sources and of the bundles. It is not published. */
const STAMP = ".sources"

/**
 * @param {string} [folder] the package
 * @returns {boolean} whether dist contains the bundles of the current sources
 */
export function buildLibrary(folder = join(root, "packages", "sluice")) {
  const stamp = join(folder, "dist", STAMP)
  const sources = hashOfFiles(sourcesOf(folder))
  if (readIfExists(stamp) === `${sources} ${hashOfFiles(bundlesIn(folder))}`) return true
  // The bundler is asynchronous and a build is not, so the bundler runs in its own process.
  const { status } = spawnSync(process.execPath, [self, folder], { stdio: "inherit" })
  if (status === 0) writeFileSync(stamp, `${sources} ${hashOfFiles(bundlesIn(folder))}`)
  return status === 0
}

/** @param {string} folder */
async function bundle(folder) {
  // Imported here, because it is not installed yet when npm start loads this file on a fresh clone.
  const { rolldown } = await import("rolldown")
  const { exports, dependencies, peerDependencies } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  )
  const build = await rolldown({
    cwd: folder,
    input: entriesOf(exports),
    external: [/^node:/, ...Object.keys({ ...dependencies, ...peerDependencies })],
    // Resolve no other package, so that the bundle cannot contain one that happens to be installed here.
    resolve: { modules: [] },
    // The library runs in Node, edge runtimes and browsers.
    platform: "neutral",
    transform: { target: "es2023" },
    tsconfig: false,
    // A warning, such as an unresolved import, would be an error in an application.
    onwarn(warning) {
      throw new Error(warning.message)
    },
  })
  const output = []
  for (const [format, extension] of FORMATS) {
    const bundled = await build.generate({
      dir: join(folder, "dist"),
      format,
      sourcemap: true,
      // The package contains the sources, and debuggers find them there.
      sourcemapExcludeSources: true,
      minifyInternalExports: false,
      entryFileNames: `[name].${extension}`,
      chunkFileNames: `chunks/[name].${extension}`,
      codeSplitting: { groups, minShareCount: 2 },
      // Jest runs CommonJS in a context that has no import().
      dynamicImportInCjs: false,
      esModule: true,
    })
    output.push(...bundled.output)
  }
  await build.close()
  // Write entries last, because they import the chunks.
  const bundles = output
    .toReversed()
    .map((file) => [join(folder, "dist", file.fileName), file.type === "chunk" ? file.code : file.source])
  const files = [...bundles, ...commonJsDeclarations(join(folder, "dist"))]
  for (const [path, content] of files) replaceFile(path, content)
  const written = new Set(files.map(([path]) => path))
  for (const path of bundlesIn(folder)) if (!written.has(path)) rmSync(path, { force: true })
}

/** The formats of the bundles, each with the extension of its files. @type {readonly ["esm" | "cjs", string][]} */
const FORMATS = [
  ["esm", "js"],
  ["cjs", "cjs"],
]

/**
 * The declarations of the CommonJS modules: those of the ES modules, which import each other under their CommonJS names. The
 * compiler takes a .d.ts file of this package for an ES module, and a CommonJS module may not import one.
 *
 * @param {string} dist
 * @returns {[path: string, content: string][]}
 */
function commonJsDeclarations(dist) {
  const renamed = (/** @type {string} */ path) => path.replace(/\.d\.ts/, ".d.cts")
  return filesIn(dist)
    .filter((path) => /\.d\.ts(?:\.map)?$/.test(path))
    .map((path) => {
      const content = readFileSync(path, "utf8")
      const own = path.endsWith(".map")
        ? JSON.stringify({ ...JSON.parse(content), file: renamed(basename(path, ".map")) })
        : content
            .replaceAll(/((?:\bfrom |\bimport\(|\bimport )"\.{1,2}\/[^"]+)\.js"/g, '$1.cjs"')
            .replace(/(?<=sourceMappingURL=\S+)\.d\.ts/, ".d.cts")
      return [renamed(path), own]
    })
}

/**
 * The chunks for modules that several entries need. Each entry loads two or three of them, and a middleware does not load
 * Redis. A module goes into the first group that matches, with everything it imports. A module that one entry needs stays in
 * the file of that entry.
 */
const groups = [
  // notify.ts calls listeners, also those of the middlewares.
  {
    name: "core",
    test: /[\\/]src[\\/](?!(?:middleware|outgoing|request|rules|usage|stores[\\/]redis)[\\/]|stores[\\/]fallback[\\/](?!notify\.)|stores[\\/](?:hold-id\.|leases[\\/]))/,
  },
  // What limiters load with their first acquire or lease, limitFetch with the first call that is charged by its body, and other
  // entries at once.
  {
    name: "later",
    test: /[\\/]src[\\/](?:usage[\\/]|stores[\\/](?:hold-id\.|leases[\\/]))/,
  },
  { name: "redis", test: /[\\/]src[\\/]stores[\\/](?:redis|fallback)[\\/]/ },
  { name: "http", test: /[\\/]src[\\/](?:middleware|outgoing|request)[\\/]/ },
  { name: "rules", test: /[\\/]src[\\/]rules[\\/]/ },
]

/**
 * The source file of each entry, by its name in dist.
 * @param {Record<string, string | { import: { default: string } }>} exports the exports of package.json
 * @returns {Record<string, string>}
 */
function entriesOf(exports) {
  const files = Object.values(exports).flatMap((target) =>
    typeof target === "string" ? [] : target.import.default,
  )
  const names = files.map((file) => file.replace(/^\.\/dist\/|\.js$/g, ""))
  return Object.fromEntries(names.map((name) => [name, `./src/${name}.ts`]))
}

/**
 * Replaces a file at once, so that no process ever reads half of it. Does not touch a file that has this content already.
 * @param {string} path
 * @param {string | Uint8Array} content
 */
function replaceFile(path, content) {
  if (existsSync(path) && readFileSync(path).equals(Buffer.from(content))) return
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, content)
  renameSync(draft, path)
}

/** @param {string} folder @returns {string[]} */
function sourcesOf(folder) {
  const sources = filesIn(join(folder, "src"), /\.(?:test|test-support)\.ts$/)
  return [...sources, join(folder, "package.json"), join(root, "package-lock.json"), self]
}

/** All JavaScript in dist and the declarations of CommonJS, also of earlier builds. @param {string} folder @returns {string[]} */
function bundlesIn(folder) {
  return filesIn(join(folder, "dist")).filter((path) => /\.(?:js|cjs|d\.cts)(?:\.map)?$/.test(path))
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    await bundle(process.argv[2])
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
