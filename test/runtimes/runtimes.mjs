// The runtimes under test. npm carries a package with the program of each one for each platform.

import { join } from "node:path"

/**
 * @typedef {object} Runtime
 * @property {string} name the column of the table
 * @property {boolean} [isQuick] runs with --quick
 * @property {string} package the npm package of this platform, with its version
 * @property {string} program the path of the program in the package
 * @property {readonly string[]} run the arguments before the name of a script
 * @property {"process" | "worker"} kind
 */

const os = process.platform === "win32" ? "win" : process.platform
const platform = `${os}-${process.arch}`
const isGlibc = process.platform === "linux" ? "-glibc" : ""

/** @param {string} version @param {boolean} [isQuick] @returns {Runtime} */
function node(version, isQuick) {
  return {
    name: `Node ${version}`,
    isQuick,
    package: `node-${platform}@${version}`,
    program: "bin/node",
    run: [],
    kind: "process",
  }
}

/** @type {readonly Runtime[]} */
export const runtimes = [
  // The oldest one that package.json allows, then every line that is still supported.
  node("20.19.0"),
  node("22"),
  node("24"),
  node("26", true),
  {
    name: "Bun",
    isQuick: true,
    package: `@oven/bun-${platform}@1`,
    program: "bin/bun",
    run: ["run"],
    kind: "process",
  },
  {
    name: "Deno",
    isQuick: true,
    package: `@deno/${platform}${isGlibc}@2`,
    program: "deno",
    run: ["run", "--allow-all", "--no-lock", "--node-modules-dir=manual"],
    kind: "process",
  },
  {
    name: "workerd",
    isQuick: true,
    package: `@cloudflare/workerd-${process.platform}-64@1`,
    program: "bin/workerd",
    run: [],
    kind: "worker",
  },
]

/** Where a runtime is installed below a folder. @param {string} folder @param {Runtime} runtime */
export function programIn(folder, runtime) {
  return join(folder, "node_modules", aliasOf(runtime), runtime.program)
}

/** Several versions of one package are installed side by side, under names of their own. @param {Runtime} runtime */
export function aliasOf({ name }) {
  return `runtime-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}`
}
