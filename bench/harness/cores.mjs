// A core for the server and another for the client, where the system can do that: a scheduler that moves them about, or
// puts both on one core for a while, is the largest source of noise there is.

import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"

/** @typedef {{ server: number, client: number }} Cores */

/**
 * Two cores this process may use, or undefined when there are not two or `taskset` is not here.
 * @returns {Cores | undefined}
 */
export function twoCores() {
  const [client, server] = allowedCores()
  if (server === undefined || spawnSync("taskset", ["--version"]).status !== 0) return undefined
  return { server, client }
}

/**
 * The command that starts a program on one core.
 * @param {number | undefined} core
 * @param {string} program
 * @param {readonly string[]} args
 * @returns {[string, string[]]}
 */
export function onCore(core, program, args) {
  return core === undefined ? [program, [...args]] : ["taskset", ["-c", String(core), program, ...args]]
}

/**
 * Keeps this process, all its threads, and what it starts from now on, on one core.
 * @param {number} core
 */
export function stayOnCore(core) {
  const { status, stderr } = spawnSync("taskset", ["-a", "-c", "-p", String(core), String(process.pid)])
  if (status !== 0) throw new Error(`taskset: ${stderr}`)
}

/** @returns {number[]} */
function allowedCores() {
  try {
    return parseCoreList(/^Cpus_allowed_list:\s*(.+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1])
  } catch {
    return []
  }
}

/**
 * @param {string | undefined} list  like `0-3,8`
 * @returns {number[]}
 */
export function parseCoreList(list = "") {
  return list.split(",").flatMap((range) => {
    const [first, last = first] = range.split("-").map(Number)
    return range.trim() === "" ? [] : Array.from({ length: last - first + 1 }, (_, i) => first + i)
  })
}
