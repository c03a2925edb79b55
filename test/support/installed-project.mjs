// Projects outside this repository, with the packed library and packages from the registry, for the suites that install what
// `npm test` does not: `npm run test:packages` and `npm run test:runtimes`.

import { spawn, spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { install } from "../../scripts/bootstrap.mjs"
import { build } from "../../scripts/build.mjs"
import { root } from "../../scripts/root.mjs"
import { runCommand } from "../../scripts/run-command.mjs"

/** Builds and packs the library as npm would publish it. @param {string} folder where to put the tarball */
export function packLibrary(folder) {
  install()
  if (!build("packages/sluice")) throw new Error("the build of packages/sluice failed")
  runCommand("npm", ["pack", "--silent", "--workspace=sluice", `--pack-destination=${folder}`], root)
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"))
  return join(folder, /** @type {string} */ (tarball))
}

/** Runs `use` with a new temporary folder, and removes the folder afterwards. @template T @param {(folder: string) => Promise<T>} use */
export async function inTemporaryFolder(use) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-installed-"))
  try {
    return await use(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Installs packages into a folder. No package may run code while it is installed.
 * @param {string} folder
 * @param {readonly string[]} packages names with versions, or paths of tarballs
 * @param {readonly string[]} [options] more options of npm
 */
export function installPackages(folder, packages, options = []) {
  mkdirSync(folder, { recursive: true })
  if (!existsSync(join(folder, "package.json")))
    writeProjectFiles(folder, { "package.json": { private: true } })
  const fixed = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", "--prefer-offline"]
  const args = ["install", ...fixed, "--loglevel=error", ...options, ...packages]
  const { status, stdout, stderr } = spawnSync("npm", args, { cwd: folder, encoding: "utf8" })
  if (status === 0) return
  throw new Error(`npm install ${packages.join(" ")} failed. It needs the npm registry.\n${stdout}${stderr}`)
}

/** @param {string} folder @param {Readonly<Record<string, string | object>>} files texts, and objects to write as JSON */
export function writeProjectFiles(folder, files) {
  for (const [path, content] of Object.entries(files)) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content))
  }
}

/** Copies a folder of this repository. @param {string} from its path in the repository @param {string} to */
export function copyFromRepository(from, to) {
  cpSync(join(root, from), to, { recursive: true })
}

/**
 * Runs a program to its end and returns what it printed. Throws an error with all of it if the program fails.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env?: Record<string, string>, timeoutMs?: number }} options
 * @returns {Promise<string>}
 */
export function runProgram(command, args, { cwd, env = {}, timeoutMs = 120_000 }) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, NO_COLOR: "1", CI: "1", ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: timeoutMs,
      killSignal: "SIGKILL",
    })
    let out = ""
    let all = ""
    child.stdout.setEncoding("utf8").on("data", (text) => {
      out += text
      all += text
    })
    child.stderr.setEncoding("utf8").on("data", (text) => {
      all += text
    })
    child.on("error", reject)
    child.on("close", (status, signal) => {
      if (status === 0) resolve(out)
      else reject(new Error(`${command} ${args.join(" ")} ended with ${signal ?? status}\n${all.trim()}`))
    })
  })
}

/**
 * Starts a server, waits until it prints what matches `ready`, calls `use` with the match, and stops the server.
 * @template T
 * @param {string} command
 * @param {readonly string[]} args
 * @param {{ cwd: string, env?: Record<string, string>, ready: RegExp }} options
 * @param {(match: RegExpExecArray) => Promise<T>} use
 */
export async function withServer(command, args, { cwd, env = {}, ready }, use) {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const ended = new Promise((resolve) => child.on("close", resolve))
  let printed = ""
  try {
    const match = await new Promise((resolve, reject) => {
      const read = (text) => {
        printed += text
        const found = ready.exec(printed)
        if (found !== null) resolve(found)
      }
      child.stdout.setEncoding("utf8").on("data", read)
      child.stderr.setEncoding("utf8").on("data", read)
      child.on("error", reject)
      child.on("close", () => reject(new Error(`${command} ${args.join(" ")} ended early\n${printed}`)))
      setTimeout(() => reject(new Error(`${command} did not start within 60 s\n${printed}`)), 60_000).unref()
    })
    return await use(match)
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error}\n${printed}`.trim())
  } finally {
    child.kill("SIGKILL")
    await ended
  }
}
