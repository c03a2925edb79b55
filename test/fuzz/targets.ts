// What is fuzzed, in a process of its own: gateways, check APIs and a control plane. There are several of each, so that what an
// upstream has seen belongs to one input.

import { readFileSync } from "node:fs"
import { memoryStore } from "sluice"
import { createRuleEngine, objectRules, parseRuleSet } from "sluice/rules"
import { createCheckApi } from "../../packages/server/src/check-api/check-api.js"
import { listenForChecks } from "../../packages/server/src/check-api/listen.js"
import { configSchema } from "../../packages/server/src/config/schema.js"
import { createControlPlane } from "../../packages/server/src/control/plane.js"
import type { Core } from "../../packages/server/src/core.js"
import { startGateway } from "../../packages/server/src/gateway/start-gateway.js"
import { startHttp } from "../../packages/server/src/service/serving/control-listener.js"
import { openPlainServer, type Seen } from "./plain-server.js"

const RULES = `
version: 1
identity: { apiKey: { header: x-api-key, query: api_key } }
rules:
  - { id: all, keyBy: ip, limits: [{ limit: 1000000000, window: 1s }] }
  - { id: keys, match: { path: /k }, keyBy: [apiKey, "cookie:sid"], onMissingKey: skip, limits: [{ limit: 1000000000, window: 1s }] }
`
const HOST = "127.0.0.1"

export interface BenchPorts {
  readonly gateway: number
  readonly service: number
}

export interface Targets {
  readonly benches: readonly BenchPorts[]
  readonly control: number
}

/** What the upstream of one bench has received since the last call. */
export interface BenchSeen {
  readonly forwarded: readonly Seen[]
  /** Bytes that were forwarded and are not HTTP. */
  readonly malformed: readonly string[]
}

export interface Health {
  readonly rssMb: number
  readonly heapMb: number
  /** The longest time that this process kept its event loop for itself. */
  readonly stallMs: number
  readonly errors: readonly string[]
}

/** How long a client may leave an answer unread: short, so that a test can observe it. */
export const ANSWER_TIMEOUT_MS = 2_000

const errors: string[] = []
const onError = (error: unknown) =>
  void errors.push(error instanceof Error ? (error.stack ?? error.message) : String(error))

export class Running {
  readonly #taken: (() => BenchSeen)[] = []
  readonly #stalls = new Stalls()

  async start(count: number): Promise<Targets> {
    const benches: BenchPorts[] = []
    for (let i = 0; i < count; i++) benches.push(await this.#bench())
    const core = openCore()
    const watch = {
      subscribe: () => () => {},
      metrics: () => "",
      top: () => [],
      history: () => ({}),
      state: () => ({ startedAt: 0, workers: 1, store: {} }),
    }
    const app = createControlPlane(core, { watch, onError })
    const control = await startHttp({ host: HOST, port: 0, app, answerTimeoutMs: ANSWER_TIMEOUT_MS })
    return { benches, control: portOf(control.address) }
  }

  take(bench: number): BenchSeen {
    return (this.#taken[bench] as () => BenchSeen)()
  }

  health(): Health {
    const { rss, heapUsed } = process.memoryUsage()
    return {
      rssMb: rss / 2 ** 20,
      heapMb: heapUsed / 2 ** 20,
      stallMs: this.#stalls.take(),
      errors: errors.splice(0),
    }
  }

  async #bench(): Promise<BenchPorts> {
    const upstream = await openPlainServer()
    this.#taken.push(() => ({ forwarded: upstream.seen.splice(0), malformed: upstream.malformed.splice(0) }))
    return { gateway: await openGateway(upstream.port), service: await openService() }
  }
}

function openCore(): Core {
  const store = memoryStore()
  const rules = objectRules(parseRuleSet(RULES))
  const engine = createRuleEngine({ rules, store, secret: "for tests" })
  return { engine, rules, store, watch: { decided: () => {} } }
}

async function openGateway(upstream: number): Promise<number> {
  const config = configSchema.parse({
    gateway: {
      enabled: true,
      port: 0,
      upstream: [`http://${HOST}:${upstream}`],
      accessLog: { format: "off" },
    },
  })
  const gateway = await startGateway(openCore(), { settings: config.gateway, limits: config.limits })
  return portOf(gateway.address)
}

async function openService(): Promise<number> {
  const handler = createCheckApi(openCore(), { onError })
  const listener = await listenForChecks({ host: HOST, port: 0, handler, answerTimeoutMs: ANSWER_TIMEOUT_MS })
  return portOf(listener.address)
}

function portOf(address: string): number {
  return Number(address.slice(address.lastIndexOf(":") + 1))
}

/** Time between two ticks that this thread has worked through. What other programs take of it is not counted. */
class Stalls {
  #longest = 0
  #wall = performance.now()
  #cpu = threadTimeMs()

  constructor() {
    setInterval(() => {
      const [wall, cpu] = [performance.now(), threadTimeMs()]
      this.#longest = Math.max(this.#longest, Math.min(wall - this.#wall, cpu - this.#cpu))
      this.#wall = wall
      this.#cpu = cpu
    }, 5)
  }

  take(): number {
    const longest = this.#longest
    this.#longest = 0
    return longest
  }
}

/** Processor time of this thread where the system tells it; else there is only the clock. */
function threadTimeMs(): number {
  try {
    return Number(readFileSync("/proc/thread-self/schedstat", "utf8").split(" ")[0]) / 1e6
  } catch {
    return performance.now()
  }
}
