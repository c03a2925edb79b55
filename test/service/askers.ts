// Sends the same check over every protocol, and returns as much of the decision as the protocol can express.

import { fileURLToPath } from "node:url"
import * as grpc from "@grpc/grpc-js"
import { loadSync } from "@grpc/proto-loader"
import type { RuleDecision } from "sluice/rules"
import { createJsonHandler } from "../../packages/server/src/envoy/json-handler.js"
import { startEnvoy } from "../../packages/server/src/envoy/start-envoy.js"
import { startResp } from "../../packages/server/src/resp/resp-listener.js"
import { RespConnection } from "../support/redis/resp-connection.js"
import { type Bed, portOf, startBed } from "./bed.js"

/** A decision, in whole seconds rounded up, as far as the protocol expresses it. */
export interface Told {
  readonly allowed?: boolean
  readonly limit?: number
  readonly remaining?: number
  /** 0 when allowed, -1 for never. */
  readonly retryAfter?: number
  readonly resetAfter?: number
  readonly resetAt?: number
}

export interface Asker {
  readonly name: string
  /** Which of the two rules it checks: `by-ip` or `by-descriptor`, with the same limits. */
  readonly rule: "by-ip" | "by-descriptor"
  /** Whether a request can have a cost. */
  readonly takesCost: boolean
  ask(service: WholeService, cost: number): Promise<Told>
}

export interface WholeService {
  readonly bed: Bed
  readonly grpc: RateLimitClient
  readonly resp: RespConnection
  close(): Promise<void>
}

export const IP = "203.0.113.7"
export const ENTRIES = [{ key: "user", value: "42" }]
export const KEYS = { "by-ip": `ip:${IP}`, "by-descriptor": "descriptor:user=42" }

/** Two rules with the same limits, one about requests and one about descriptors. */
export function twinRules(limits: string): string {
  return `
version: 1
identity: { trustedProxies: [loopback] }
rules:
  - { id: by-ip, match: { path: /items }, keyBy: ip, limits: [${limits}] }
  - id: by-descriptor
    match: { domain: edge, descriptor: [{ key: user }] }
    keyBy: descriptor
    limits: [${limits}]
`
}

/** Everything that answers, on one core. */
export async function startWhole(rules: string): Promise<WholeService> {
  const bed = await startBed(rules, { json: (core) => createJsonHandler(core) })
  const envoy = await startEnvoy(bed.core, { host: "127.0.0.1", port: 0 })
  const redis = await startResp(bed.core, { host: "127.0.0.1", port: 0 })
  const resp = await RespConnection.open({ host: "127.0.0.1", port: portOf(redis.address) })
  const client = new RateLimitClient(envoy.address)
  return {
    bed,
    grpc: client,
    resp,
    async close() {
      client.close()
      resp.close()
      await envoy.close(0)
      await redis.close(0)
      await bed.close()
    },
  }
}

export const askers: readonly Asker[] = [
  {
    name: "HTTP, a request",
    rule: "by-ip",
    takesCost: true,
    ask: ({ bed }, cost) => post(bed, "/v1/check", { method: "GET", path: "/items", ip: IP, cost }),
  },
  {
    name: "HTTP, a rule and a key",
    rule: "by-ip",
    takesCost: true,
    ask: ({ bed }, cost) => post(bed, "/v1/check", { rule: "by-ip", key: KEYS["by-ip"], cost }),
  },
  {
    name: "HTTP, the status asked for",
    rule: "by-ip",
    takesCost: true,
    async ask({ bed }, cost) {
      const body = JSON.stringify({ path: "/items", ip: IP, cost })
      const response = await fetch(`${bed.url}/v1/check?status=429`, { method: "POST", body })
      await response.text()
      return toldByHeaders(response)
    },
  },
  {
    name: "HTTP, a batch",
    rule: "by-ip",
    takesCost: true,
    async ask({ bed }, cost) {
      const { results } = await postJson(bed, "/v1/check/batch", {
        checks: [{ path: "/items", ip: IP, cost }],
      })
      return toldByJson(results[0])
    },
  },
  {
    name: "HTTP, descriptors",
    rule: "by-descriptor",
    takesCost: true,
    ask: ({ bed }, cost) =>
      post(bed, "/v1/check", { domain: "edge", descriptors: [{ entries: ENTRIES }], cost }),
  },
  {
    name: "an auth subrequest",
    rule: "by-ip",
    takesCost: false,
    async ask({ bed }) {
      const headers = { "x-forwarded-uri": "/items", "x-forwarded-for": IP, "x-forwarded-method": "GET" }
      const response = await fetch(`${bed.url}/v1/auth`, { headers })
      await response.text()
      return toldByHeaders(response)
    },
  },
  {
    name: "gRPC",
    rule: "by-descriptor",
    takesCost: true,
    async ask({ grpc: client }, cost) {
      const { overallCode, statuses } = await client.ask({
        domain: "edge",
        descriptors: [{ entries: ENTRIES, hitsAddend: { value: cost } }],
      })
      const [status] = statuses
      return {
        allowed: overallCode === "OK",
        limit: status?.currentLimit.requestsPerUnit ?? Number.NaN,
        remaining: status?.limitRemaining ?? Number.NaN,
        resetAfter:
          Number(status?.durationUntilReset.seconds) + (status?.durationUntilReset.nanos === 0 ? 0 : 1),
      }
    },
  },
  {
    name: "POST /json",
    rule: "by-descriptor",
    takesCost: true,
    async ask({ bed }, cost) {
      const body = { domain: "edge", descriptors: [{ entries: ENTRIES, hitsAddend: String(cost) }] }
      const { overallCode, statuses } = await postJson(bed, "/json", body)
      const [{ currentLimit, limitRemaining = 0, durationUntilReset }] = statuses
      return {
        allowed: overallCode === "OK",
        limit: currentLimit.requestsPerUnit,
        remaining: limitRemaining,
        resetAfter: Math.ceil(Number.parseFloat(durationUntilReset)),
      }
    },
  },
  {
    name: "SLUICE.CHECK",
    rule: "by-ip",
    takesCost: true,
    async ask({ resp }, cost) {
      const reply = await resp.command("SLUICE.CHECK", "by-ip", KEYS["by-ip"], cost)
      const [limited, limit, remaining, retry, resetAfter] = reply as number[]
      const allowed = limited === 0
      return { allowed, limit, remaining, retryAfter: allowed ? 0 : retry, resetAfter } as Told
    },
  },
]

/** All there is to tell, from the engine itself. */
export function toldByEngine(decision: RuleDecision): Required<Told> {
  const { allowed, limit, remaining, retryAfterMs, resetAfterMs, resetAt } = decision
  return {
    allowed,
    limit,
    remaining,
    retryAfter: Number.isFinite(retryAfterMs) ? Math.ceil(retryAfterMs / 1000) : -1,
    resetAfter: Math.ceil(resetAfterMs / 1000),
    resetAt: Math.ceil(resetAt / 1000),
  }
}

function toldByJson(json: RuleDecision & { retryAfterMs: number | "never" }): Told {
  const retryAfterMs =
    (json.retryAfterMs as unknown) === "never" ? Number.POSITIVE_INFINITY : json.retryAfterMs
  return toldByEngine({ ...json, retryAfterMs })
}

function toldByHeaders(response: Response): Told {
  const number = (name: string) => Number(response.headers.get(name) ?? Number.NaN)
  const allowed = response.status === 200
  return {
    allowed,
    limit: number("x-ratelimit-limit"),
    remaining: number("x-ratelimit-remaining"),
    retryAfter: allowed ? 0 : response.headers.has("retry-after") ? number("retry-after") : -1,
    resetAt: number("x-ratelimit-reset"),
  }
}

async function post(bed: Bed, path: string, body: object): Promise<Told> {
  return toldByJson(await postJson(bed, path, body))
}

// biome-ignore lint/suspicious/noExplicitAny: what is in it is what the tests are about
async function postJson(bed: Bed, path: string, body: object): Promise<any> {
  const response = await fetch(bed.url + path, { method: "POST", body: JSON.stringify(body) })
  return await response.json()
}

interface RateLimitAnswer {
  readonly overallCode: string
  readonly statuses: readonly {
    readonly currentLimit: { readonly requestsPerUnit: number }
    readonly limitRemaining: number
    readonly durationUntilReset: { readonly seconds: string; readonly nanos: number }
  }[]
}

type Ask = (message: object, callback: (error: Error | null, answer: RateLimitAnswer) => void) => void

/** Envoy's part, by @grpc/grpc-js. */
class RateLimitClient {
  readonly #client: grpc.Client & { ShouldRateLimit: Ask }

  constructor(address: string) {
    const folder = fileURLToPath(new URL("../../packages/server/proto/", import.meta.url))
    const service = "envoy.service.ratelimit.v3.RateLimitService"
    const definition = loadSync("envoy/service/ratelimit/v3/rls.proto", {
      includeDirs: [folder],
      defaults: true,
      enums: String,
      longs: String,
    })
    const Client = grpc.makeClientConstructor(definition[service] as grpc.ServiceDefinition, service)
    this.#client = new Client(address, grpc.credentials.createInsecure()) as unknown as grpc.Client & {
      ShouldRateLimit: Ask
    }
  }

  ask(message: object): Promise<RateLimitAnswer> {
    return new Promise((resolve, reject) => {
      this.#client.ShouldRateLimit(message, (error, answer) =>
        error === null ? resolve(answer) : reject(error),
      )
    })
  }

  close(): void {
    this.#client.close()
  }
}
