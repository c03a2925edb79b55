// Installs the dependencies. It uses only Node, because on a fresh clone nothing else is installed.

import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { basename, join } from "node:path"
import { readIfExists } from "./files.mjs"
import { root } from "./root.mjs"

const stampFile = join(root, "node_modules", ".sluice-installed")
const MIN_NODE = [20, 19]

/** Installs the locked dependencies, unless the last install used the same lockfile, Node and system. */
export function install() {
  requireNode()
  const stamp = installStamp()
  if (readIfExists(stampFile) === stamp) return
  console.log("Installing dependencies (first run, or package-lock.json has changed) …")
  const status = npmCi()
  if (status !== 0) {
    throw new Error(
      `Installing the dependencies failed: npm ci exited with ${status}. It downloads them from the npm registry, ` +
        "so check the network, the proxy settings and the disk. For details, run:\n\n" +
        "  npm ci --ignore-scripts --loglevel=http\n",
    )
  }
  writeFileSync(stampFile, stamp)
}

/** Runs a setup step. If it fails, prints the message without a stack and exits. */
export async function orExplain(step) {
  try {
    return await step()
  } catch (error) {
    console.error(`\n${error instanceof Error ? error.message : error}`)
    process.exit(1)
  }
}

function npmCi() {
  const args = [
    "ci",
    // No dependency may run code while it is installed.
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    // With NODE_ENV=production npm would leave out the build tools.
    "--include=dev",
    "--prefer-offline",
    "--loglevel=error",
    // With the default retries, npm needs more than a minute to report that there is no network.
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=5000",
  ]
  // Use the npm that started this script, if one did: npm may not be on the PATH.
  const startedBy = process.env.npm_execpath
  const [command, ...first] =
    startedBy && basename(startedBy) === "npm-cli.js" ? [process.execPath, startedBy] : ["npm"]
  const shell = command === "npm" && process.platform === "win32"
  const { status, error } = spawnSync(command, [...first, ...args], { cwd: root, stdio: "inherit", shell })
  if (error)
    throw new Error(
      `npm could not be started: ${error.message}. npm comes with Node; install it and try again.`,
    )
  return status
}

function requireNode() {
  const [major, minor] = process.versions.node.split(".").map(Number)
  if (major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1])) return
  throw new Error(`Sluice needs Node ${MIN_NODE.join(".")} or newer; this is ${process.version}.`)
}

function installStamp() {
  const lock = readFileSync(join(root, "package-lock.json"))
  const hash = createHash("sha256").update(lock).digest("hex")
  // Some dependencies contain native code, so another system or another Node needs another install.
  return `${hash} ${process.version} ${process.platform}-${process.arch}\n`
}
