// Load by wrk: it costs far less than any proxy here, and knows latencies.

import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { onCore } from "../harness/cores.mjs"
import { ensureTool } from "../harness/set-up.mjs"

const run = promisify(execFile)

/** @typedef {{ answered: number, perSecond: number, p50Ms: number, p99Ms: number }} Loaded */

/**
 * @param {object} plan
 * @param {number} plan.port
 * @param {number} plan.connections
 * @param {number} plan.ms
 * @param {number | undefined} plan.core
 * @param {boolean} [plan.denied]  whether every answer must be a denial; else none may be
 * @returns {Promise<Loaded>}
 */
export async function load({ port, connections, ms, core, denied = false }) {
  const [program, args] = onCore(core, ensureTool("wrk"), [
    ...["-t", "1", "-c", String(connections), "-d", `${Math.max(1, Math.round(ms / 1000))}s`, "--latency"],
    `http://127.0.0.1:${port}/items/7`,
  ])
  const { stdout } = await run(program, args)
  const answered = Number(/(\d+) requests in/.exec(stdout)?.[1])
  const perSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
  const bad = Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0)
  // Late answers are part of the figures on a busy machine; broken connections never are.
  const broken = /Socket errors: connect ([1-9]|0, read [1-9]|0, read 0, write [1-9])/.test(stdout)
  const isClean = !broken && bad === (denied ? answered : 0)
  // A run with wrong answers gives no figure.
  if (!(perSecond > 0) || !isClean) throw new Error(`wrk on port ${port} printed:\n${stdout}`)
  return { answered, perSecond, p50Ms: millis(stdout, "50"), p99Ms: millis(stdout, "99") }
}

/**
 * @param {string} printed
 * @param {string} percent
 */
function millis(printed, percent) {
  const [, number, unit] = new RegExp(`${percent}%\\s+([\\d.]+)(us|ms|s)\\b`).exec(printed) ?? []
  return Number(number) * { us: 0.001, ms: 1, s: 1_000 }[/** @type {"us" | "ms" | "s"} */ (unit)]
}
