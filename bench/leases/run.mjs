// Runs the cases, each contender in a process of its own, against one redis-server.

import { Redis } from "ioredis"
import { startChild } from "../harness/child.mjs"
import { say } from "../harness/command.mjs"
import { median } from "../harness/statistics.mjs"
import { startServer } from "../redis/server.mjs"
import { contenders as all } from "./subjects.mjs"

/** @typedef {import("../harness/command.mjs").Plan} Plan */
/** @typedef {{ answer: string, contender: string, perSecond: number, p50Ns?: number, p99Ns?: number }} Hot */
/** @typedef {{ demand: string, contender: string, admitted: number, share: number }} Use */

/**
 * @typedef {object} Figures
 * @property {string} redis
 * @property {Hot[]} hot
 * @property {{ checks: number, calls: number }[]} calls
 * @property {Use[]} use
 * @property {{ contender: string, perSecond: number, cpuMicros: number }[]} zipf
 * @property {{ perKey: number, leased: number }[]} bytes
 */

const CHILD = new URL("child.mjs", import.meta.url)
const INSTANCES = 8
/** Of the fleet with more demand than the limit. */
const RATE = 4_000
const SHARED = { algorithm: "token-bucket", limit: RATE, window: "1s", burst: RATE }
const STEADY = { algorithm: "sliding-window-counter", limit: 60_000_000, window: "1m" }

/**
 * @param {Plan} plan
 * @returns {Promise<Figures>}
 */
export async function run(plan) {
  const server = await startServer(undefined)
  const admin = new Redis({ port: server.port, host: "127.0.0.1" })
  /** @type {Figures} */
  const figures = { redis: "", hot: [], calls: [], use: [], zipf: [], bytes: [] }
  try {
    figures.redis = /^redis_version:(\S+)/m.exec(await admin.info("server"))?.[1] ?? "unknown"
    const here = { ...plan, port: server.port, admin }
    if (plan.cases.includes("hot")) figures.hot = await hot(here)
    if (plan.cases.includes("calls")) figures.calls = [await calls(here)]
    if (plan.cases.includes("use")) figures.use = await use(here)
    if (plan.cases.includes("zipf")) figures.zipf = await zipf(here)
    if (plan.cases.includes("bytes")) figures.bytes = [await bytes(here)]
    return figures
  } finally {
    admin.disconnect()
    await server.stop()
  }
}

/** @param {Figures} figures */
export function surroundings({ redis }) {
  return `Redis ${redis} on the same machine`
}

/** @typedef {Plan & { port: number, admin: Redis }} Here */

/** @param {Here} here */
async function hot({ quick, port, admin, contenders }) {
  const rounds = quick ? 3 : 5
  const ms = quick ? 300 : 1_000
  /** @type {Hot[]} */
  const figures = []
  for (const answer of ["allowed", "denied"]) {
    for (const { name } of all) {
      if (contenders.length > 0 && !contenders.includes(name)) continue
      say(`one hot key, ${answer}: ${name}`)
      await admin.flushall()
      const child = startChild(CHILD)
      try {
        await child.ask("open", { name, port, answer })
        const isAtOnce = name === "leases, checkEither" || name === "memory"
        /** @type {Record<string, number>[]} */
        const samples = []
        for (let i = 0; i < rounds; i++)
          samples.push({
            ...(await child.ask(isAtOnce ? "either" : "hot", { ms, inFlight: 512 })),
            ...(isAtOnce ? await child.ask("times", { ms }) : {}),
          })
        const of = (/** @type {string} */ figure) => median(samples.map((sample) => sample[figure]))
        figures.push({
          answer,
          contender: name,
          perSecond: of("perSecond"),
          ...(isAtOnce ? { p50Ns: of("p50Ns"), p99Ns: of("p99Ns") } : {}),
        })
      } finally {
        child.stop()
      }
    }
  }
  return figures
}

/** @param {Here} here */
async function calls({ quick, port, admin }) {
  say("calls of a key with 10,000 checks a second")
  const child = startChild(CHILD)
  try {
    await child.ask("openLimiter", { name: "leases", port, limit: STEADY })
    await child.ask("steady", { ms: 300, perSecond: 10_000 })
    const before = await scriptCalls(admin)
    const { checks } = await child.ask("steady", { ms: quick ? 1_000 : 5_000, perSecond: 10_000 })
    return { checks, calls: (await scriptCalls(admin)) - before }
  } finally {
    child.stop()
  }
}

/**
 * Calls of scripts, without the heartbeats, which use EVAL.
 * @param {Redis} admin
 */
async function scriptCalls(admin) {
  return Number(/cmdstat_evalsha:calls=(\d+)/.exec(await admin.info("commandstats"))?.[1] ?? 0)
}

/** @param {Here} here */
async function use({ quick, port, admin }) {
  const ms = quick ? 3_000 : 10_000
  /** @type {Use[]} */
  const figures = []
  for (const [demand, shares] of /** @type {const} */ ([
    ["even", Array.from({ length: INSTANCES }, () => 1 / INSTANCES)],
    ["skewed (one has 90 %)", [0.9, ...Array.from({ length: INSTANCES - 1 }, () => 0.1 / (INSTANCES - 1))]],
  ])) {
    let plain = 0
    for (const name of ["plain", "leases"]) {
      say(`8 instances, ${demand} demand: ${name}`)
      await admin.flushall()
      const fleet = shares.map(() => startChild(CHILD))
      try {
        for (const child of fleet) await child.ask("openLimiter", { name, port, limit: SHARED })
        const answers = await Promise.all(
          fleet.map((child, i) => child.ask("demand", { ms, perSecond: 2 * RATE * (shares[i] ?? 0) })),
        )
        const admitted = answers.reduce((sum, { allowed }) => sum + allowed, 0)
        if (name === "plain") plain = admitted
        figures.push({ demand, contender: name, admitted, share: admitted / plain })
      } finally {
        for (const child of fleet) child.stop()
      }
    }
  }
  return figures
}

/** @param {Here} here */
async function zipf({ quick, port, admin }) {
  const rounds = quick ? 3 : 5
  const names = ["plain", "leases"]
  /** @type {Map<string, { perSecond: number, cpuMicros: number }[]>} */
  const samples = new Map(names.map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const name of names) {
      say(`10,000 keys with Zipf demand: ${name}`)
      await admin.flushall()
      const child = startChild(CHILD)
      try {
        await child.ask("openLimiter", { name, port, limit: STEADY })
        await child.ask("zipf", { keys: 10_000, checks: 20_000 })
        samples.get(name)?.push(await child.ask("zipf", { keys: 10_000, checks: quick ? 60_000 : 200_000 }))
      } finally {
        child.stop()
      }
    }
  }
  return names.map((contender) => {
    const own = samples.get(contender) ?? []
    return {
      contender,
      perSecond: median(own.map(({ perSecond }) => perSecond)),
      cpuMicros: median(own.map(({ cpuMicros }) => cpuMicros)),
    }
  })
}

/** @param {Here} here */
async function bytes({ port, admin }) {
  say("memory of 10,000 leased keys")
  await admin.flushall()
  const child = startChild(CHILD)
  try {
    // A window so long that the leases do not end while they are counted.
    const limit = { algorithm: "fixed-window", limit: 1_000_000, window: "1d", leases: { length: "1m" } }
    await child.ask("openLimiter", { name: "leases", port, limit })
    return await child.ask("bytes", { keys: 10_000 })
  } finally {
    child.stop()
  }
}
