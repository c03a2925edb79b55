// A bare machine: a folder with a minimal Debian, Node, npm and a copy of the working tree.

import { spawn } from "node:child_process"
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { root } from "../root.mjs"
import { runCommand } from "../run-command.mjs"
import { aptProxies, debianSources } from "./apt-sources.mjs"
import { release } from "./base.mjs"
import { hostSettings } from "./host-settings.mjs"

const ENTER = fileURLToPath(new URL("./enter.sh", import.meta.url))

/** @typedef {{ name: string, id: number, home: string }} Person */

/** @type {Record<"root" | "user", Person>} */
export const people = {
  root: { name: "root", id: 0, home: "/root" },
  user: { name: "sluice", id: 1000, home: "/home/sluice" },
}

/** Sets a machine up in a new folder. @param {string} folder @param {string} tarball @param {Person} person */
export function createMachine(folder, tarball, person) {
  mkdirSync(folder)
  runCommand("tar", ["--numeric-owner", "-xpf", tarball, "-C", folder], folder)
  const put = (/** @type {string} */ path, /** @type {string} */ text) =>
    writeFileSync(join(folder, path), text)
  const sources = debianSources(release())
  if (sources.length > 0) {
    rmSync(join(folder, "etc/apt/sources.list"), { force: true })
    put("etc/apt/sources.list.d/host.sources", sources.map(({ text }) => text).join("\n"))
    put("etc/apt/apt.conf.d/90host", aptProxies())
  }
  for (const file of ["resolv.conf", "hosts"])
    if (existsSync(`/etc/${file}`)) put(`etc/${file}`, readFileSync(`/etc/${file}`, "utf8"))
  copyNode(folder)
  if (person.id !== 0) {
    const line = `${person.name}:x:${person.id}:${person.id}::${person.home}:/bin/bash\n`
    writeFileSync(join(folder, "etc/passwd"), line, { flag: "a" })
    writeFileSync(join(folder, "etc/group"), `${person.name}:x:${person.id}:\n`, { flag: "a" })
    mkdirSync(join(folder, person.home), { recursive: true })
  }
  copyWorkingTree(join(folder, person.home, "sluice"))
  runCommand("chown", ["-R", "-h", `${person.id}:${person.id}`, join(folder, person.home)], folder)
}

/** Copies the Node that runs this script, and its npm. @param {string} folder */
function copyNode(folder) {
  const beside = join(dirname(process.execPath), "..", "lib", "node_modules", "npm", "bin", "npm-cli.js")
  const started = process.env.npm_execpath ?? ""
  const cli = started.endsWith("npm-cli.js") ? started : beside
  if (!existsSync(cli))
    throw new Error(`npm was not found at ${cli}. Start this script with npm run test:bare`)
  const local = join(folder, "usr", "local")
  cpSync(process.execPath, join(local, "bin", "node"))
  chmodSync(join(local, "bin", "node"), 0o755)
  cpSync(dirname(dirname(cli)), join(local, "lib", "node_modules", "npm"), {
    recursive: true,
    dereference: true,
  })
  for (const name of ["npm", "npx"])
    symlinkSync(`../lib/node_modules/npm/bin/${name}-cli.js`, join(local, "bin", name))
}

/** Copies all files of the working tree, committed or not, except those that git ignores. @param {string} folder */
function copyWorkingTree(folder) {
  // Under sudo the repository belongs to another user, and git refuses it without this setting.
  const safe = ["-c", `safe.directory=${root}`]
  const listing = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"]
  for (const file of runCommand("git", [...safe, ...listing], root).split("\0")) {
    const source = join(root, file)
    // Git also lists files that were deleted and not yet committed.
    if (file === "" || !existsSync(source) || lstatSync(source).isDirectory()) continue
    const target = join(folder, file)
    mkdirSync(dirname(target), { recursive: true })
    cpSync(source, target, { verbatimSymlinks: true })
  }
}

/**
 * Runs a command in the machine, in the copy of the working tree. It runs in its own namespaces, so its mounts and processes
 * always end with it.
 *
 * @param {string} folder @param {Person} person @param {readonly string[]} command @param {Record<string, string>} [env]
 */
export function runInside(folder, person, command, env = {}) {
  const host = hostSettings()
  const variables = {
    HOME: person.home,
    USER: person.name,
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ...host.variables,
    ...env,
  }
  const assignments = Object.entries(variables).map(([name, value]) => `${name}=${value}`)
  const files = host.files.flatMap(({ from, to }) => [from, to])
  const settings = [
    folder,
    String(person.id),
    join(person.home, "sluice"),
    String(host.files.length),
    ...files,
  ]
  return spawn(
    "unshare",
    [
      ...["--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--propagation", "private"],
      ...["sh", ENTER, ...settings, "env", "-i", ...assignments, ...command],
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  )
}
