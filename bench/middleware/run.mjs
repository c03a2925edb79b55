// Runs the applications in turn and reduces all slices to what each loses.

import { startChild } from "../harness/child.mjs"
import { say } from "../harness/command.mjs"
import { stayOnCore, twoCores } from "../harness/cores.mjs"
import { openConnections } from "../harness/http-load.mjs"
import { seededRandom, shuffled } from "../harness/random.mjs"
import { mean, median, spread, standardError } from "../harness/statistics.mjs"
import { contenders } from "./contenders.mjs"

/** @typedef {import("../harness/command.mjs").Plan} Plan */

/**
 * @typedef {object} Figure
 * @property {number} perSecond  median of all slices
 * @property {number} spread
 * @property {number} lost  of the bare framework's requests per second, in percent; mean of all generations
 * @property {number} lostError  its standard error; not a number if there was only one generation
 * @property {number} cpuMicros  processor time of the server per request; mean of all generations
 * @property {readonly number[]} generations  what was lost in each
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
  const size = plan.quick
    ? { generations: 1, warmUpMs: 1_000, rounds: 8, ms: 30 }
    : {
        generations: framework === "fastify" ? 8 : 4,
        // It takes the engine so many requests to compile an application, and express answers fewer.
        warmUpMs: framework === "express" ? 3_000 : 1_500,
        rounds: 25,
        ms: 40,
      }
  const wanted = contenders.filter(
    (c) =>
      c.framework === framework &&
      (c.kind === "bare" || plan.contenders.length === 0 || plan.contenders.includes(c.name)),
  )
  // The bare framework is what all others are held against: two processes of it, so that not all depends on how the engine
  // happened to compile one.
  const processes = [...wanted, ...wanted.filter(({ kind }) => kind === "bare")]
  /** @type {Record<"fresh" | "settled", Phase[]>} */
  const phases = { fresh: [], settled: [] }
  for (let generation = 0; generation < size.generations; generation++) {
    say(`${framework}, part ${generation + 1} of ${size.generations}`)
    const children = processes.map(() => startChild(new URL("server.mjs", import.meta.url)))
    try {
      /** @type {number[]} */
      const ports = []
      for (const i of anyOrder(processes.length)) {
        ports[i] = (await children[i].ask("listen", { framework, name: processes[i].name, core })).port
      }
      phases.fresh.push(await time(children, ports, size))
      for (const child of children) await child.ask("idle")
      phases.settled.push(await time(children, ports, { ...size, warmUpMs: size.warmUpMs / 2 }))
    } finally {
      for (const child of children) child.stop()
    }
  }
  const bare = processes.flatMap(({ kind }, i) => (kind === "bare" ? [i] : []))
  return wanted.map(({ name, kind }, i) => {
    const own = kind === "bare" ? bare : [i]
    return {
      framework,
      contender: name,
      fresh: figureOf(phases.fresh, own, bare),
      settled: figureOf(phases.settled, own, bare),
    }
  })
}

/**
 * What one generation of processes did: of each, the requests per second of every round, and its processor time.
 * @typedef {{ perSecond: number[], cpuMicros: number }[]} Phase
 */

/**
 * Short slices in ever new order: what else the machine does is then the same for all of a round more often than not.
 * @param {readonly import("../harness/child.mjs").Child[]} children
 * @param {readonly number[]} ports
 * @param {{ warmUpMs: number, rounds: number, ms: number }} size
 * @returns {Promise<Phase>}
 */
async function time(children, ports, { warmUpMs, rounds, ms }) {
  const clients = await Promise.all(ports.map((port) => openConnections({ port, connections: CONNECTIONS })))
  /** @type {Phase} */
  const phase = ports.map(() => ({ perSecond: [], cpuMicros: 0 }))
  // Compiled code and filled caches, before the clock starts.
  for (let spent = 0; spent < warmUpMs; spent += WARM_UP_SLICE_MS) {
    for (const i of anyOrder(ports.length)) await clients[i].loadFor(WARM_UP_SLICE_MS)
  }
  const before = await Promise.all(children.map((child) => child.ask("usage")))
  const answered = ports.map(() => 0)
  for (let round = 0; round < rounds; round++) {
    for (const i of anyOrder(ports.length)) {
      const slice = await clients[i].loadFor(ms)
      phase[i].perSecond.push(slice.perSecond)
      answered[i] += slice.answered
    }
  }
  const after = await Promise.all(children.map((child) => child.ask("usage")))
  for (const [i, { micros }] of after.entries())
    phase[i].cpuMicros = (micros - before[i].micros) / answered[i]
  for (const client of clients) client.close()
  return phase
}

const WARM_UP_SLICE_MS = 100

const random = seededRandom(1)

/** @param {number} count */
function anyOrder(count) {
  return shuffled(count, random)
}

/**
 * @param {readonly Phase[]} phases
 * @param {readonly number[]} own   whose figure
 * @param {readonly number[]} bare  whom it is compared with
 * @returns {Figure}
 */
function figureOf(phases, own, bare) {
  const all = phases.flatMap((phase) => own.flatMap((i) => phase[i].perSecond))
  const generations = phases.map((phase) => {
    /** @param {readonly number[]} whose @param {number} round */
    const secondsEach = (whose, round) => mean(whose.map((i) => 1 / phase[i].perSecond[round]))
    // Against the same round: a machine that is slow for a while is slow for both.
    return median(
      phase[own[0]].perSecond.map(
        (_, round) => 100 * (1 - secondsEach(bare, round) / secondsEach(own, round)),
      ),
    )
  })
  return {
    perSecond: median(all),
    spread: spread(all),
    lost: mean(generations),
    lostError: standardError(generations),
    cpuMicros: mean(phases.flatMap((phase) => own.map((i) => phase[i].cpuMicros))),
    generations,
  }
}
