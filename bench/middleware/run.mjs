// Runs the applications in turn and reduces all rounds to what each loses.

import { startChild } from "../harness/child.mjs"
import { say } from "../harness/command.mjs"
import { stayOnCore, twoCores } from "../harness/cores.mjs"
import { load } from "../harness/http-load.mjs"
import { rotated } from "../harness/rounds.mjs"
import { median, spread } from "../harness/statistics.mjs"
import { contenders } from "./contenders.mjs"

/** @typedef {import("../harness/command.mjs").Plan} Plan */

/**
 * @typedef {object} Figure
 * @property {number} perSecond  median of all rounds
 * @property {number} spread
 * @property {number} lost  of the bare framework's requests per second in the same round, in percent; median of all rounds
 * @property {number} cpuMicros  processor time of the server per request; median of all rounds
 * @property {readonly number[]} rounds
 */

/**
 * @typedef {object} Timing
 * @property {string} framework
 * @property {string} contender
 * @property {Figure} fresh    of processes that have been under load since they started
 * @property {Figure} settled  of the same processes after collections that found them idle
 */

/** @typedef {{ cores: string, connections: number, timings: Timing[] }} Figures */

const CONNECTIONS = 64

/**
 * @param {Plan} plan
 * @returns {Promise<Figures>}
 */
export async function run(plan) {
  const cores = twoCores()
  if (cores) stayOnCore(cores.client)
  /** @type {Timing[]} */
  const timings = []
  for (const framework of plan.cases) timings.push(...(await measure(framework, plan, cores?.server)))
  return {
    cores: cores
      ? `server on core ${cores.server}, load from core ${cores.client}`
      : "not bound to cores (needs two, and taskset)",
    connections: CONNECTIONS,
    timings,
  }
}

/** @param {Figures} figures */
export function surroundings({ cores, connections }) {
  return `${connections} kept connections on loopback, ${cores}`
}

/**
 * @param {string} framework
 * @param {Plan} plan
 * @param {number | undefined} core
 * @returns {Promise<Timing[]>}
 */
async function measure(framework, plan, core) {
  // How the engine compiles an application differs from process to process by more than a limiter costs: so many processes,
  // and short rounds, because what else the machine does is then more often the same for all that are compared.
  const size = plan.quick
    ? { generations: 2, fresh: 1, settled: 3, ms: 200, warmUpMs: 500 }
    : { generations: 4, fresh: 8, settled: 8, ms: 300, warmUpMs: 3_000 }
  const wanted = contenders.filter(
    (c) =>
      c.framework === framework &&
      (c.kind === "bare" || plan.contenders.length === 0 || plan.contenders.includes(c.name)),
  )
  /** @type {Sample[][]} */
  const fresh = []
  /** @type {Sample[][]} */
  const settled = []
  for (let generation = 0; generation < size.generations; generation++) {
    say(`${framework}${size.generations > 1 ? `, part ${generation + 1}` : ""}`)
    const children = wanted.map(() => startChild(new URL("server.mjs", import.meta.url)))
    try {
      /** @type {number[]} */
      const ports = []
      for (const [i, { name }] of wanted.entries()) {
        ports.push((await children[i].ask("listen", { framework, name, core })).port)
      }
      /** @param {number} ms */
      const warmUp = async (ms) => {
        for (const port of ports) await load({ port, connections: CONNECTIONS, ms })
      }
      /**
       * @param {number} count
       * @param {Sample[][]} rounds
       */
      const time = async (count, rounds) => {
        for (let round = 0; round < count; round++) {
          /** @type {Sample[]} */
          const samples = []
          for (const i of rotated(wanted.length, rounds.length)) {
            samples[i] = await sample(children[i], ports[i], size.ms)
          }
          rounds.push(samples)
        }
      }
      // Compiled code and filled caches, before the clock starts.
      await warmUp(size.warmUpMs)
      await time(size.fresh, fresh)
      for (const child of children) await child.ask("idle")
      await warmUp(size.warmUpMs / 2)
      await time(size.settled, settled)
    } finally {
      for (const child of children) child.stop()
    }
  }
  const bare = wanted.findIndex(({ kind }) => kind === "bare")
  return wanted.map(({ name }, i) => ({
    framework,
    contender: name,
    fresh: figureOf(fresh, i, bare),
    settled: figureOf(settled, i, bare),
  }))
}

/**
 * @param {readonly Sample[][]} rounds
 * @param {number} i     whose figure
 * @param {number} bare  whom it is compared with
 * @returns {Figure}
 */
function figureOf(rounds, i, bare) {
  const own = rounds.map((samples) => samples[i].perSecond)
  return {
    perSecond: median(own),
    spread: spread(own),
    // Against the same round: a machine that is slow for a while is slow for both.
    lost: median(rounds.map((samples) => 100 * (1 - samples[i].perSecond / samples[bare].perSecond))),
    cpuMicros: median(rounds.map((samples) => samples[i].cpuMicros)),
    rounds: own,
  }
}

/** @typedef {{ perSecond: number, cpuMicros: number }} Sample */

/**
 * @param {import("../harness/child.mjs").Child} server
 * @param {number} port
 * @param {number} ms
 * @returns {Promise<Sample>}
 */
async function sample(server, port, ms) {
  const before = await server.ask("usage")
  const { answered, perSecond } = await load({ port, connections: CONNECTIONS, ms })
  const after = await server.ask("usage")
  return { perSecond, cpuMicros: (after.micros - before.micros) / answered }
}
