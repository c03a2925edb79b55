// Loads the proxies of each case in turn, in front of one backend, and reduces all rounds to one figure.

import { startChild } from "../harness/child.mjs"
import { say } from "../harness/command.mjs"
import { twoCores } from "../harness/cores.mjs"
import { rotated } from "../harness/rounds.mjs"
import { median, spread } from "../harness/statistics.mjs"
import { CONNECTIONS, contenders } from "./cases.mjs"
import { startBackend, startNginxProxy } from "./nginx.mjs"
import { processorTime } from "./processor-time.mjs"
import { isSluice, startSluice } from "./sluice.mjs"
import { load } from "./wrk.mjs"

/** @typedef {import("../harness/command.mjs").Plan} Plan */
/** @typedef {import("../harness/cores.mjs").Cores} Cores */
/** @typedef {import("./nginx.mjs").Server} Server */

/**
 * @typedef {object} Timing
 * @property {string} case
 * @property {string} contender
 * @property {number} perSecond  median of all rounds
 * @property {number} spread
 * @property {number} ratio  to the gateway with its rule in the same round; median of all rounds
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number | undefined} cpuMicros  processor time of the proxy for each request; median of all rounds
 */

/** @typedef {{ cores: string, timings: Timing[] }} Figures */
/** @typedef {{ perSecond: number, p50Ms: number, p99Ms: number, micros: number | undefined }} Sample */

/**
 * @param {Plan} plan
 * @returns {Promise<Figures>}
 */
export async function run(plan) {
  const cores = twoCores()
  /** @type {Figures} */
  const figures = {
    cores: cores
      ? `each proxy alone on core ${cores.server}, backend and wrk on core ${cores.client}`
      : "not bound to cores (needs two, and taskset)",
    timings: [],
  }
  for (const name of plan.cases) {
    say(name)
    figures.timings.push(...(await measure(name, plan, cores)))
  }
  return figures
}

/** @param {Figures} figures */
export function surroundings({ cores }) {
  return `wrk with ${CONNECTIONS} kept connections on loopback; ${cores}`
}

/**
 * @param {string} name
 * @param {Plan} plan
 * @param {Cores | undefined} cores
 * @returns {Promise<Timing[]>}
 */
async function measure(name, plan, cores) {
  const size = sizeOf(name, plan.quick)
  const chosen = contenders.filter((one) => one.cases.includes(name)).map((one) => one.name)
  const names = chosen.filter((one) => plan.contenders.length === 0 || plan.contenders.includes(one))
  const backend = await startBackend(cores?.client)
  /** @type {Sample[][]} */
  const rounds = []
  try {
    for (let i = 0; i < size.generations; i++)
      rounds.push(...(await generation(names, size, i, cores, backend)))
  } finally {
    backend.stop()
  }
  const ours = Math.max(0, names.indexOf("sluice"))
  return names.map((contender, i) => {
    const own = rounds.map((samples) => samples[i])
    const micros = own.flatMap((one) => one.micros ?? [])
    return {
      case: name,
      contender,
      perSecond: median(own.map((one) => one.perSecond)),
      spread: spread(own.map((one) => one.perSecond)),
      ratio: median(rounds.map((samples) => samples[i].perSecond / samples[ours].perSecond)),
      p50Ms: median(own.map((one) => one.p50Ms)),
      p99Ms: median(own.map((one) => one.p99Ms)),
      cpuMicros: micros.length === 0 ? undefined : median(micros),
    }
  })
}

/** @typedef {{ generations: number, rounds: number, ms: number, warmUps: number }} Size */

/**
 * Two processes of the same gateway may differ by a tenth for as long as they live, which is more than a check costs, and more
 * than denials have to spare: only many of them show it.
 * @param {string} name
 * @param {boolean} isQuick
 * @returns {Size}
 */
function sizeOf(name, isQuick) {
  if (isQuick) return { generations: 1, rounds: name === "check" ? 6 : 2, ms: 700, warmUps: 1 }
  if (name === "forward") return { generations: 3, rounds: 3, ms: 1_500, warmUps: MAX_WARM_UPS }
  return { generations: name === "check" ? 12 : 8, rounds: 3, ms: 700, warmUps: MAX_WARM_UPS }
}

/**
 * The rounds of one process of each.
 * @param {readonly string[]} names
 * @param {Size} size
 * @param {number} generation
 * @param {Cores | undefined} cores
 * @param {Server} backend
 */
async function generation(names, size, generation, cores, backend) {
  /** @type {Server[]} */
  const servers = []
  /** @type {Sample[][]} */
  const rounds = []
  try {
    // A process that starts later tends to be faster.
    for (const i of rotated(names.length, generation)) {
      servers[i] = await start(names[i], cores, backend)
      await warmUp(servers[i], names[i], size, cores)
    }
    for (let round = 0; round < size.rounds; round++) {
      /** @type {Sample[]} */
      const samples = []
      for (const i of rotated(servers.length, generation * size.rounds + round))
        samples[i] = await sample(servers[i], names[i], size.ms, cores)
      rounds.push(samples)
    }
  } finally {
    for (const server of servers) server?.stop()
  }
  return rounds
}

/**
 * @param {string} name
 * @param {Cores | undefined} cores
 * @param {Server} backend
 * @returns {Promise<Server>}
 */
async function start(name, cores, backend) {
  const core = cores?.server
  // Asked directly: the backend belongs to the case, and is stopped with it.
  if (name === "backend") return { ...backend, stop: () => {} }
  if (name === "nginx") return await startNginxProxy(core, backend.port)
  if (isSluice(name)) return await startSluice(name, core, backend.port)
  const child = startChild(new URL("server.mjs", import.meta.url))
  const { port, pid } = await child.ask("listen", { name, upstream: backend.port, core })
  return { port, pid, stop: child.stop }
}

/** The engine has compiled all there is to compile by then: a busy machine takes longer to get there. */
const WARM = 50_000
const MAX_WARM_UPS = 10

/**
 * Compiled code and filled caches, before the clock starts.
 * @param {Server} server
 * @param {string} name
 * @param {{ ms: number, warmUps: number }} size
 * @param {Cores | undefined} cores
 */
async function warmUp(server, name, { ms, warmUps }, cores) {
  let answered = 0
  for (let i = 0; i < warmUps && answered < WARM; i++)
    answered += (await loadOne(server, name, ms * 2, cores)).answered
}

/**
 * @param {Server} server
 * @param {string} name
 * @param {number} ms
 * @param {Cores | undefined} cores
 */
function loadOne({ port }, name, ms, cores) {
  const denied = name === "sluice, denied"
  return load({ port, connections: CONNECTIONS, ms, core: cores?.client, denied })
}

/**
 * @param {Server} server
 * @param {string} name
 * @param {number} ms
 * @param {Cores | undefined} cores
 * @returns {Promise<Sample>}
 */
async function sample(server, name, ms, cores) {
  const { pid } = server
  const before = processorTime(pid)
  const { answered, perSecond, p50Ms, p99Ms } = await loadOne(server, name, ms, cores)
  const after = processorTime(pid)
  const micros = before === undefined || after === undefined ? undefined : (after - before) / answered
  return { perSecond, p50Ms, p99Ms, micros }
}
