// Runs the selected cases, all contenders against the same server, and collects their figures.

import { askOnce, startChild } from "../harness/child.mjs"
import { say } from "../harness/command.mjs"
import { stayOnCore, twoCores } from "../harness/cores.mjs"
import { rotated } from "../harness/rounds.mjs"
import { median, spread } from "../harness/statistics.mjs"
import { caseNames, timingCases } from "./cases.mjs"
import { contenders, openIoredis } from "./contenders.mjs"
import { startServer } from "./server.mjs"

/** @typedef {import("../harness/command.mjs").Plan} Plan */
/** @typedef {import("./timing.mjs").Sample} Sample */

/**
 * @typedef {object} Figures
 * @property {{ redis: string, cores: string }} server
 * @property {Timing[]} timings
 * @property {({ contender: string } & import("./bytes.mjs").Bytes)[]} bytes
 */

/**
 * The median of each figure over all rounds.
 * @typedef {Sample & { case: string, contender: string, spread: number, rounds: readonly number[] }} Timing
 */

/**
 * @param {Plan} plan
 * @returns {Promise<Figures>}
 */
export async function run(plan) {
  if (plan.quick && plan.cases.length === caseNames.length)
    plan = { ...plan, cases: caseNames.filter((name) => name !== "denied") }
  const cores = twoCores()
  const server = await startServer(cores?.server)
  try {
    if (cores) stayOnCore(cores.client)
    const { port } = server
    return {
      server: {
        redis: await redisVersion(port),
        cores: cores
          ? `redis-server on core ${cores.server}, Node on core ${cores.client}`
          : "not bound to cores (needs two, and taskset)",
      },
      timings: await timings(plan, port),
      bytes: plan.cases.includes("bytes") ? await bytes(plan, port) : [],
    }
  } finally {
    await server.stop()
  }
}

/** @param {Figures} figures */
export function surroundings({ server }) {
  return `Redis ${server.redis} on the same machine, ${server.cores}`
}

/**
 * @param {Plan} plan
 * @param {number} port
 */
async function timings(plan, port) {
  const cases = timingCases.filter(({ name }) => plan.cases.includes(name))
  const size = plan.quick ? { generations: 1, rounds: 2, ms: 200 } : { generations: 3, rounds: 3, ms: 500 }
  /** @type {Map<string, { case: string, contender: string, samples: Sample[] }>} */
  const taken = new Map()
  for (let generation = 0; generation < size.generations && cases.length > 0; generation++) {
    const children = await openAll(wanted(plan), port)
    try {
      for (const timingCase of cases) {
        say(`${timingCase.short} in flight${size.generations > 1 ? `, part ${generation + 1}` : ""}`)
        const here = children.filter(
          ({ cases: only }) => only === undefined || only.includes(timingCase.name),
        )
        for (let round = 0; round < size.rounds; round++) {
          for (const i of rotated(here.length, generation * size.rounds + round)) {
            const { name, child } = here[i]
            const id = `${timingCase.name} ${name}`
            const entry = taken.get(id) ?? { case: timingCase.name, contender: name, samples: [] }
            taken.set(id, entry)
            entry.samples.push(await child.ask("measure", { timingCase, ms: size.ms }))
          }
        }
      }
    } finally {
      for (const { child } of children) child.stop()
    }
  }
  return Array.from(taken.values(), summary)
}

/**
 * @param {{ case: string, contender: string, samples: readonly Sample[] }} entry
 * @returns {Timing}
 */
function summary({ case: caseName, contender, samples }) {
  const of = (/** @type {keyof Sample} */ figure) => samples.map((sample) => sample[figure])
  const rounds = of("perSecond")
  return {
    case: caseName,
    contender,
    perSecond: median(rounds),
    spread: spread(rounds),
    rounds,
    p50Ms: median(of("p50Ms")),
    p99Ms: median(of("p99Ms")),
    serverMicros: median(of("serverMicros")),
    serverCpuMicros: median(of("serverCpuMicros")),
    clientCpuMicros: median(of("clientCpuMicros")),
    callsPerCheck: median(of("callsPerCheck")),
  }
}

/**
 * @param {readonly import("./contenders.mjs").Contender[]} wantedContenders
 * @param {number} port
 */
async function openAll(wantedContenders, port) {
  const opened = wantedContenders.map(({ name, cases }) => ({
    name,
    cases,
    child: startChild(new URL("timing.mjs", import.meta.url)),
  }))
  for (const { name, child } of opened)
    await child.ask("open", { contender: name, address: addressOf(name, port) })
  return opened
}

/**
 * @param {Plan} plan
 * @param {number} port
 */
async function bytes(plan, port) {
  say("bytes per key")
  /** @type {Figures["bytes"]} */
  const figures = []
  for (const { name, kind, isVariant } of wanted(plan)) {
    if (isVariant || kind === "baseline") continue
    const opening = { contender: name, address: addressOf(name, port) }
    figures.push({ contender: name, ...(await askOnce(new URL("bytes.mjs", import.meta.url), opening)) })
  }
  return figures
}

/**
 * @param {string} name
 * @param {number} port
 */
function addressOf(name, port) {
  return { port, database: contenders.findIndex((contender) => contender.name === name) }
}

/** @param {Plan} plan */
function wanted(plan) {
  return contenders.filter(({ name, notWhenQuick }) =>
    plan.contenders.length > 0 ? plan.contenders.includes(name) : !(plan.quick && notWhenQuick),
  )
}

/** @param {number} port */
async function redisVersion(port) {
  const admin = await openIoredis({ port, database: 0 })
  const version = /^redis_version:(\S+)/m.exec(await admin.info("server"))?.[1] ?? "unknown"
  admin.disconnect()
  return version
}
