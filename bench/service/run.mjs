// Runs both servers of each case in turn, and reduces all rounds to one figure.

import { startChild } from "../harness/child.mjs"
import { say } from "../harness/command.mjs"
import { stayOnCore, twoCores } from "../harness/cores.mjs"
import { load } from "../harness/http-load.mjs"
import { rotated } from "../harness/rounds.mjs"
import { median, percentile, spread } from "../harness/statistics.mjs"
import { startServer } from "../redis/server.mjs"
import { BATCH, BATCH_BODY, BATCH_PATH, BODY, CONNECTIONS, PATH } from "./cases.mjs"
import { grpcLoad, loadGrpc, loadResp, rateLimitRequest, respLoad } from "./tools.mjs"

/** @typedef {import("../harness/command.mjs").Plan} Plan */
/** @typedef {import("../harness/cores.mjs").Cores} Cores */

/**
 * @typedef {object} Timing
 * @property {string} case
 * @property {string} contender
 * @property {number} perSecond  checks, calls or commands; median of all rounds
 * @property {number} spread
 * @property {number | undefined} ratio  to the bare server in the same round; median of all rounds
 * @property {number | undefined} cpuMicros  processor time of the server for each; median of all rounds
 */

/** @typedef {{ contender: string, perSecond: number, p50Ms: number, p99Ms: number }} Latency */
/** @typedef {{ seconds: number, earlyMiB: number, lateMiB: number }} Memory */
/** @typedef {{ cores: string, timings: Timing[], latencies: Latency[], memory: Memory | undefined }} Figures */

/** A server that is up, and how it is loaded. */
/** @typedef {{ usage: () => Promise<{ micros: number } | undefined>, load: (ms: number) => Promise<{ perSecond: number, answered: number }>, stop: () => unknown }} Running */

/**
 * @param {Plan} plan
 * @returns {Promise<Figures>}
 */
export async function run(plan) {
  const cores = twoCores()
  if (cores) stayOnCore(cores.client)
  /** @type {Figures} */
  const figures = {
    cores: cores
      ? `server on core ${cores.server}, load from core ${cores.client}`
      : "not bound to cores (needs two, and taskset)",
    timings: [],
    latencies: [],
    memory: undefined,
  }
  for (const name of plan.cases) {
    say(name)
    if (name === "latency") figures.latencies = await measureLatency(plan, cores)
    else if (name === "memory") figures.memory = await measureMemory(plan, cores)
    else figures.timings.push(...(await measure(name, plan, cores)))
  }
  return figures
}

/** @param {Figures} figures */
export function surroundings({ cores }) {
  return `HTTP by ${CONNECTIONS} kept connections on loopback, gRPC by ${grpcLoad}, RESP by ${respLoad}; ${cores}`
}

/**
 * @param {string} name
 * @param {Plan} plan
 * @param {Cores | undefined} cores
 * @returns {Promise<Timing[]>}
 */
async function measure(name, plan, cores) {
  const size = plan.quick ? { rounds: 3, ms: 1_000 } : { rounds: 11, ms: 2_000 }
  /** @type {[string, Running][]} */
  const running = [
    ["sluice", await starters[name](cores, "sluice")],
    ["bare", await starters[name](cores, "bare")],
  ]
  /** @type {{ perSecond: number, micros: number | undefined }[][]} */
  const rounds = []
  try {
    for (const [, server] of running) await warmUp(server, size.ms * 2)
    for (let round = 0; round < size.rounds; round++) {
      /** @type {{ perSecond: number, micros: number | undefined }[]} */
      const samples = []
      for (const i of rotated(running.length, round)) samples[i] = await sample(running[i][1], size.ms)
      rounds.push(samples)
    }
  } finally {
    for (const [, server] of running) await server.stop()
  }
  return running.map(([contender], i) => {
    const own = rounds.map((samples) => samples[i].perSecond)
    const micros = rounds.flatMap((samples) => samples[i].micros ?? [])
    return {
      case: name,
      contender,
      perSecond: median(own),
      spread: spread(own),
      ratio: contender === "bare" ? undefined : median(rounds.map(([a, b]) => a.perSecond / b.perSecond)),
      cpuMicros: micros.length === 0 ? undefined : median(micros),
    }
  })
}

/** The engine has compiled all there is to compile by then: a busy machine takes longer to get there. */
const WARM = 50_000
const MAX_WARM_UPS = 10

/**
 * Compiled code and filled caches, before the clock starts.
 * @param {Running} server
 * @param {number} ms
 */
async function warmUp(server, ms) {
  let answered = 0
  for (let i = 0; i < MAX_WARM_UPS && answered < WARM; i++) answered += (await server.load(ms)).answered
}

/**
 * @param {Running} server
 * @param {number} ms
 */
async function sample(server, ms) {
  const before = await server.usage()
  const { perSecond, answered } = await server.load(ms)
  const after = await server.usage()
  const micros = before && after ? (after.micros - before.micros) / answered : undefined
  return { perSecond, micros }
}

/** @type {Record<string, (cores: Cores | undefined, contender: string) => Promise<Running>>} */
const starters = {
  http: (cores, contender) => startHttp(cores, contender, PATH, BODY, 1),
  batch: (cores, contender) =>
    // Against single checks: what a batch saves is the point of it.
    contender === "sluice"
      ? startHttp(cores, contender, BATCH_PATH, BATCH_BODY, BATCH)
      : startHttp(cores, "sluice", PATH, BODY, 1),
  async grpc(cores, contender) {
    const child = await start(`grpc ${contender}`, cores)
    const path =
      contender === "sluice"
        ? "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
        : "/hello.Greeter/SayHello"
    return { ...child, load: (ms) => loadGrpc(child.port, path, rateLimitRequest, ms, cores?.client) }
  },
  async resp(cores, contender) {
    if (contender === "sluice") {
      const child = await start("resp sluice", cores)
      const command = ["CL.THROTTLE", "user:42", "1000000000", "1000000000", "60"]
      return { ...child, load: (ms) => loadResp(child.port, command, ms * 500, cores?.client) }
    }
    const { port, stop } = await startServer(cores?.server)
    return {
      usage: async () => undefined,
      load: (ms) => loadResp(port, ["INCR", "user:42"], ms * 500, cores?.client),
      stop,
    }
  },
}

/**
 * @param {Cores | undefined} cores
 * @param {string} contender
 * @param {string} path
 * @param {string} body
 * @param {number} checks  in each request
 * @returns {Promise<Running & { port: number }>}
 */
async function startHttp(cores, contender, path, body, checks) {
  const answer = contender === "bare" ? await answerOfSluice(cores) : undefined
  const child = await start(`http ${contender}`, cores, answer)
  return {
    ...child,
    async load(ms) {
      const { answered, perSecond } = await load({
        port: child.port,
        path,
        body,
        connections: CONNECTIONS,
        ms,
      })
      return { answered: answered * checks, perSecond: perSecond * checks }
    },
  }
}

/** What the bare server has to answer. @param {Cores | undefined} cores */
async function answerOfSluice(cores) {
  const child = await start("http sluice", cores)
  try {
    const response = await fetch(`http://127.0.0.1:${child.port}${PATH}`, { method: "POST", body: BODY })
    // node:http adds these headers.
    const own = new Set(["date", "connection", "keep-alive"])
    const headers = Object.fromEntries([...response.headers].filter(([name]) => !own.has(name)))
    return { headers, body: await response.text() }
  } finally {
    child.stop()
  }
}

/**
 * @param {string} server
 * @param {Cores | undefined} cores
 * @param {object} [answer]
 */
async function start(server, cores, answer) {
  const child = startChild(new URL("server.mjs", import.meta.url))
  const { port } = await child.ask("listen", { server, core: cores?.server, answer })
  return { port, usage: () => child.ask("usage"), stop: child.stop }
}

/**
 * @param {Plan} plan
 * @param {Cores | undefined} cores
 * @returns {Promise<Latency[]>}
 */
async function measureLatency(plan, cores) {
  const size = plan.quick ? { rounds: 2, ms: 1_000 } : { rounds: 7, ms: 3_000 }
  const servers = [
    await startHttp(cores, "sluice", PATH, BODY, 1),
    await startHttp(cores, "bare", PATH, BODY, 1),
  ]
  try {
    /** @type {number[]} */
    const peaks = []
    for (const server of servers) {
      await warmUp(server, size.ms * 2)
      peaks.push((await server.load(size.ms)).perSecond)
    }
    const perSecond = Math.round(Math.min(...peaks) / 2)
    /** @type {{ p50: number[], p99: number[] }[]} */
    const all = servers.map(() => ({ p50: [], p99: [] }))
    for (let round = 0; round < size.rounds; round++) {
      for (const i of rotated(servers.length, round)) {
        const { port } = servers[i]
        const { latenciesMs } = await load({
          port,
          path: PATH,
          body: BODY,
          connections: CONNECTIONS,
          ms: size.ms,
          perSecond,
        })
        all[i].p50.push(percentile(latenciesMs, 0.5))
        all[i].p99.push(percentile(latenciesMs, 0.99))
      }
    }
    return ["sluice", "bare"].map((contender, i) => ({
      contender,
      perSecond,
      p50Ms: median(all[i].p50),
      p99Ms: median(all[i].p99),
    }))
  } finally {
    for (const server of servers) server.stop()
  }
}

/**
 * @param {Plan} plan
 * @param {Cores | undefined} cores
 * @returns {Promise<Memory>}
 */
async function measureMemory(plan, cores) {
  const seconds = plan.quick ? 12 : 600
  const child = await start("http sluice", cores)
  try {
    /** @type {number[]} */
    const samples = []
    for (let second = 0; second < seconds; second++) {
      await load({ port: child.port, path: PATH, body: BODY, connections: CONNECTIONS, ms: 1_000 })
      samples.push((await child.usage()).rssMiB)
    }
    const third = Math.floor(seconds / 3)
    return {
      seconds,
      earlyMiB: median(samples.slice(third, 2 * third)),
      lateMiB: median(samples.slice(2 * third)),
    }
  } finally {
    child.stop()
  }
}
