// Takes a fresh clone to the point where its tools run. Plain Node, because nothing is installed yet.

import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { root } from "./root.mjs"

const stampFile = join(root, "node_modules", ".sluice-installed")
const oldestNode = [20, 19]

/** Installs the locked dependencies, unless the last install was of the same lockfile by the same Node. */
export function install() {
  requireNode()
  const stamp = installStamp()
  if (readIfThere(stampFile) === stamp) return
  console.log("Installing the locked dependencies (only when they changed) …")
  const status = npmCi()
  if (status !== 0) {
    throw new Error(
      `The dependencies could not be installed (npm ci ended with ${status}). They come from the npm registry, ` +
        "so check the network, a proxy, or the disk. To see more, run:\n\n" +
        "  npm ci --ignore-scripts --loglevel=http\n",
    )
  }
  writeFileSync(stampFile, stamp)
}

/** Runs a setup step; a failure is one readable message, not a stack. */
export async function orExplain(step) {
  try {
    return await step()
  } catch (error) {
    console.error(`\n${error instanceof Error ? error.message : error}`)
    process.exit(1)
  }
}

function npmCi() {
  // Packages run no code of their own while they are installed, and NODE_ENV=production must not leave the tools out.
  const args = [
    "ci",
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--include=dev",
    "--prefer-offline",
    "--loglevel=error",
    // Without a network npm would try for over a minute before it says so.
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=5000",
  ]
  const started = process.env.npm_execpath
  // Use the npm that started us, if one did: it may not be on the PATH.
  const [command, ...first] =
    started && basename(started) === "npm-cli.js" ? [process.execPath, started] : ["npm"]
  const shell = command === "npm" && process.platform === "win32"
  const { status, error } = spawnSync(command, [...first, ...args], { cwd: root, stdio: "inherit", shell })
  if (error)
    throw new Error(
      `npm could not be started: ${error.message}. It comes with Node: install it, then try again.`,
    )
  return status
}

function requireNode() {
  const [major, minor] = process.versions.node.split(".").map(Number)
  if (major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])) return
  throw new Error(`Sluice needs Node ${oldestNode.join(".")} or newer, and this is ${process.version}.`)
}

function installStamp() {
  const lock = readFileSync(join(root, "package-lock.json"))
  const hash = createHash("sha256").update(lock).digest("hex")
  // Some tools are native, so another system or Node needs another install.
  return `${hash} ${process.version} ${process.platform}-${process.arch}\n`
}

/** @param {string} path */
function readIfThere(path) {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}
