// `npm run test:bare`: tests npm start and npm test on a machine with nothing but Node and npm.

import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onPath } from "../tools/find.mjs"
import { baseTarball } from "./base.mjs"
import { createMachine, people, runInside } from "./machine.mjs"
import { removeTree } from "./mounts.mjs"
import { help, readOptions } from "./options.mjs"
import { tryStart, tryTest } from "./trials.mjs"

const REQUIRED_BYTES = 4e9

if (process.argv.includes("--help")) {
  console.log(help)
} else {
  process.exitCode = await main()
}

async function main() {
  let options
  try {
    options = readOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\n\n${help}`)
    return 2
  }
  const parent = options.folder ?? tmpdir()
  mkdirSync(parent, { recursive: true })
  const unmet = unmetRequirements(parent)
  if (unmet.length > 0) {
    console.error(
      `npm run test:bare cannot run on this machine:\n${unmet.map((one) => `  ${one}`).join("\n")}`,
    )
    return 2
  }

  const work = realpathSync(mkdtempSync(join(parent, "sluice-bare-")))
  const interrupted = new AbortController()
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]))
    process.on(signal, () => interrupted.abort(new Error(`stopped by ${signal}`)))
  /** @type {string[]} */
  const report = []
  let isGood = true
  try {
    const tarball = baseTarball(work, options.fresh, say)
    for (const who of options.who) {
      if (interrupted.signal.aborted) break
      const folder = join(work, who)
      timed(`${who}: created a machine in ${folder}`, () => createMachine(folder, tarball, people[who]))
      const inside = (/** @type {string[]} */ command, /** @type {Record<string, string>} */ env = {}) =>
        runInside(folder, people[who], command, env)
      const results = []
      if (options.start) results.push(await tryStart(inside, interrupted.signal))
      if (options.test && !interrupted.signal.aborted)
        results.push(await tryTest(inside, options.paths, interrupted.signal))
      isGood &&= results.every((result) => result.good)
      report.push(`${who}: ${results.map((result) => result.line).join("; ")}`)
      if (!options.keep) timed(`${who}: removed the machine`, () => removeTree(folder))
    }
    interrupted.signal.throwIfAborted()
  } catch (error) {
    isGood = false
    report.push(error instanceof Error ? error.message : String(error))
  } finally {
    if (options.keep) report.unshift(`kept: ${work}`)
    else removeTree(work)
  }
  console.log(`\n── test:bare ${"─".repeat(52)}`)
  for (const line of report) console.log(line)
  return isGood ? 0 : 1
}

/** @param {string} line */
function say(line) {
  console.log(`── ${line}`)
}

/** @param {string} line @param {() => void} step */
function timed(line, step) {
  const started = performance.now()
  step()
  say(`${line} (${((performance.now() - started) / 1000).toFixed(1)} s)`)
}

/** What this machine lacks. @param {string} parent */
function unmetRequirements(parent) {
  if (process.platform !== "linux") return ["it requires Linux"]
  const unmet = ["debootstrap", "curl", "git", "unshare", "chroot"]
    .filter((command) => onPath(command).length === 0)
    .map((command) => `it requires ${command}: sudo apt-get install ${packageOf(command)}`)
  if (process.getuid?.() !== 0) unmet.push("it requires root, for mount and chroot: sudo npm run test:bare")
  else if (spawnSync("unshare", ["--mount", "--pid", "--fork", "true"]).status !== 0)
    unmet.push("it requires the permission to mount (CAP_SYS_ADMIN), which this container lacks")
  const { bavail, bsize } = statfsSync(parent)
  if (bavail * bsize < REQUIRED_BYTES)
    unmet.push(
      `it requires ${REQUIRED_BYTES / 1e9} GB of free disk space in ${parent}, which has ${((bavail * bsize) / 1e9).toFixed(1)}; choose another folder with --folder`,
    )
  return unmet
}

/** @param {string} command */
function packageOf(command) {
  return { unshare: "util-linux", chroot: "coreutils" }[command] ?? command
}
