// One bare machine: the minimal Debian with Node, npm and a copy of the working tree, in a folder.

import { spawn } from "node:child_process"
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { must } from "../tools/must.mjs"
import { aptProxies, debianSources } from "./apt-sources.mjs"
import { release } from "./base.mjs"
import { hostSettings } from "./host-settings.mjs"
import { copyWorkingTree } from "./working-tree.mjs"

const ENTER = fileURLToPath(new URL("./enter.sh", import.meta.url))

/** @typedef {{ name: string, id: number, home: string }} Person */

/** @type {Record<"root" | "user", Person>} */
export const people = {
  root: { name: "root", id: 0, home: "/root" },
  user: { name: "sluice", id: 1000, home: "/home/sluice" },
}

/** @param {string} folder @param {string} tarball @param {Person} person */
export function furnish(folder, tarball, person) {
  mkdirSync(folder)
  must("tar", ["--numeric-owner", "-xpf", tarball, "-C", folder], folder)
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
  putNode(folder)
  if (person.id !== 0) {
    const line = `${person.name}:x:${person.id}:${person.id}::${person.home}:/bin/bash\n`
    writeFileSync(join(folder, "etc/passwd"), line, { flag: "a" })
    writeFileSync(join(folder, "etc/group"), `${person.name}:x:${person.id}:\n`, { flag: "a" })
    mkdirSync(join(folder, person.home), { recursive: true })
  }
  copyWorkingTree(join(folder, person.home, "sluice"))
  must("chown", ["-R", "-h", `${person.id}:${person.id}`, join(folder, person.home)], folder)
}

/** The Node that runs this, and its npm. @param {string} folder */
function putNode(folder) {
  const beside = join(dirname(process.execPath), "..", "lib", "node_modules", "npm", "bin", "npm-cli.js")
  const started = process.env.npm_execpath ?? ""
  const cli = started.endsWith("npm-cli.js") ? started : beside
  if (!existsSync(cli)) throw new Error(`npm is not at ${cli}: start this by npm run test:bare`)
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

/**
 * Runs a command inside, in the copy of the working tree. Mounts and processes live in namespaces of their own, so they end with
 * it, however it ends.
 *
 * @param {string} folder @param {Person} person @param {readonly string[]} command @param {Record<string, string>} [env]
 */
export function enter(folder, person, command, env = {}) {
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
