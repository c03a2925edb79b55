// `npm run test:bare`: shows that npm start and npm test work on a machine with Node and npm and nothing else.

import { spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onPath } from "../tools/find.mjs"
import { baseTarball } from "./base.mjs"
import { enter, furnish, people } from "./machine.mjs"
import { removeTree } from "./mounts.mjs"
import { help, readOptions } from "./options.mjs"
import { tryStart, tryTest } from "./trials.mjs"

const NEEDED_BYTES = 4e9

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
  const lacking = whatIsLacking(parent)
  if (lacking.length > 0) {
    console.error(`npm run test:bare cannot run here:\n${lacking.map((one) => `  ${one}`).join("\n")}`)
    return 2
  }

  const work = realpathSync(mkdtempSync(join(parent, "sluice-bare-")))
  const interrupted = new AbortController()
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM", "SIGHUP"]))
    process.on(signal, () => interrupted.abort(new Error(`stopped by ${signal}`)))
  /** @type {string[]} */
  const report = []
  let good = true
  try {
    const tarball = baseTarball(work, options.fresh, say)
    for (const who of options.who) {
      if (interrupted.signal.aborted) break
      const folder = join(work, who)
      timed(`${who}: a new machine in ${folder}`, () => furnish(folder, tarball, people[who]))
      const inside = (/** @type {string[]} */ command, /** @type {Record<string, string>} */ env = {}) =>
        enter(folder, people[who], command, env)
      const results = []
      if (options.start) results.push(await tryStart(inside, interrupted.signal))
      if (options.test && !interrupted.signal.aborted)
        results.push(await tryTest(inside, options.paths, interrupted.signal))
      good &&= results.every((result) => result.good)
      report.push(`${who}: ${results.map((result) => result.line).join("; ")}`)
      if (!options.keep) timed(`${who}: the machine is removed`, () => removeTree(folder))
    }
    interrupted.signal.throwIfAborted()
  } catch (error) {
    good = false
    report.push(error instanceof Error ? error.message : String(error))
  } finally {
    if (options.keep) report.unshift(`kept: ${work}`)
    else removeTree(work)
  }
  console.log(`\n── test:bare ${"─".repeat(52)}`)
  for (const line of report) console.log(line)
  return good ? 0 : 1
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

/** What this machine would have to have. @param {string} parent */
function whatIsLacking(parent) {
  if (process.platform !== "linux") return ["it needs Linux"]
  const lacking = ["debootstrap", "curl", "git", "unshare", "chroot"]
    .filter((command) => onPath(command).length === 0)
    .map((command) => `it needs ${command}: sudo apt-get install ${packageOf(command)}`)
  if (process.getuid?.() !== 0)
    lacking.push("it needs root, to mount and to change the root folder: sudo npm run test:bare")
  else if (spawnSync("unshare", ["--mount", "--pid", "--fork", "true"]).status !== 0)
    lacking.push("it needs the right to mount (CAP_SYS_ADMIN), which this container does not give")
  const { bavail, bsize } = statfsSync(parent)
  if (bavail * bsize < NEEDED_BYTES)
    lacking.push(
      `it needs ${NEEDED_BYTES / 1e9} GB of free disk in ${parent}, and there are ${((bavail * bsize) / 1e9).toFixed(1)}; --folder names another place`,
    )
  return lacking
}

/** @param {string} command */
function packageOf(command) {
  return { unshare: "util-linux", chroot: "coreutils" }[command] ?? command
}
