// Bundles the sources of packages/sluice into its dist, unless what is there was made from the same. The compiler makes only
// the declarations: with a file for each module, an application spent more time on opening files than on reading them.

import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { root } from "./root.mjs"

const self = fileURLToPath(import.meta.url)
/** Says what the files beside it were made from, and that they are still as they were made. It is not published. */
const STAMP = ".sources"

/**
 * @param {string} [folder] of the package
 * @returns {boolean} whether the bundle is there, as its sources say
 */
export function buildLibrary(folder = join(root, "packages", "sluice")) {
  const stamp = join(folder, "dist", STAMP)
  const sources = hashOf(sourcesOf(folder))
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === `${sources} ${hashOf(bundleIn(folder))}`)
    return true
  // In a process of its own, because a build is waited for, and the bundler only has promises.
  const { status } = spawnSync(process.execPath, [self, folder], { stdio: "inherit" })
  if (status === 0) writeFileSync(stamp, `${sources} ${hashOf(bundleIn(folder))}`)
  return status === 0
}

/** @param {string} folder */
async function bundle(folder) {
  // Not imported above: before the first install there is a build script, but no bundler.
  const { rolldown } = await import("rolldown")
  const { exports, dependencies, peerDependencies } = JSON.parse(
    readFileSync(join(folder, "package.json"), "utf8"),
  )
  const build = await rolldown({
    cwd: folder,
    input: entriesOf(exports),
    external: [/^node:/, ...Object.keys({ ...dependencies, ...peerDependencies })],
    // No other package is found, so that none that happens to be installed here comes into the bundle.
    resolve: { modules: [] },
    // It runs in Node, in workers at the edge and in browsers: the bundler shall assume none of them.
    platform: "neutral",
    transform: { target: "es2023" },
    tsconfig: false,
    // What the bundler warns of, such as an import that it does not find, would fail where it is installed.
    onwarn(warning) {
      throw new Error(warning.message)
    },
  })
  const { output } = await build.generate({
    dir: join(folder, "dist"),
    format: "esm",
    sourcemap: true,
    // They are in the published sources, where debuggers find them.
    sourcemapExcludeSources: true,
    minifyInternalExports: false,
    entryFileNames: "[name].js",
    chunkFileNames: "chunks/[name].js",
    codeSplitting: { groups, minShareCount: 2 },
  })
  await build.close()
  // Entries last: they import the chunks.
  const files = output.toReversed().map((file) => {
    const path = join(folder, "dist", file.fileName)
    replaceFile(path, file.type === "chunk" ? file.code : file.source)
    return path
  })
  for (const path of bundleIn(folder)) if (!files.includes(path)) rmSync(path, { force: true })
}

/**
 * What several entries need, by what it is for, so that each of them loads two or three chunks, and a middleware none of Redis.
 * A module goes into the first group that takes it, together with all that it imports; what one entry needs stays in its file.
 */
const groups = [
  // notify.ts calls listeners, also those of the middlewares.
  {
    name: "core",
    test: /[\\/]src[\\/](?!(?:middleware|outgoing|request|rules|stores[\\/]redis)[\\/]|stores[\\/]fallback[\\/](?!notify\.))/,
  },
  { name: "redis", test: /[\\/]src[\\/]stores[\\/](?:redis|fallback)[\\/]/ },
  { name: "http", test: /[\\/]src[\\/](?:middleware|outgoing|request)[\\/]/ },
  { name: "rules", test: /[\\/]src[\\/]rules[\\/]/ },
]

/**
 * The sources of what users import, by where it goes in dist.
 * @param {Record<string, string | { default: string }>} exports of the package
 * @returns {Record<string, string>}
 */
function entriesOf(exports) {
  const files = Object.values(exports).flatMap((target) => (typeof target === "string" ? [] : target.default))
  const names = files.map((file) => file.replace(/^\.\/dist\/|\.js$/g, ""))
  return Object.fromEntries(names.map((name) => [name, `./src/${name}.ts`]))
}

/**
 * A process that starts meanwhile must never see half a file, and a file that stays the same is left alone.
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
  const sources = filesIn(join(folder, "src")).filter((path) => !/\.(?:test|test-support)\.ts$/.test(path))
  return [...sources, join(folder, "package.json"), join(root, "package-lock.json"), self]
}

/** All JavaScript that is there, also that of former builds. @param {string} folder @returns {string[]} */
function bundleIn(folder) {
  return filesIn(join(folder, "dist")).filter((path) => /\.js(?:\.map)?$/.test(path))
}

/** @param {string} folder @returns {string[]} */
function filesIn(folder) {
  if (!existsSync(folder)) return []
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
}

/** @param {string[]} files */
function hashOf(files) {
  const hash = createHash("sha256")
  for (const file of files)
    hash
      .update(`${relative(root, file)}\0`)
      .update(readFileSync(file))
      .update("\0")
  return hash.digest("hex")
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  try {
    await bundle(process.argv[2])
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
