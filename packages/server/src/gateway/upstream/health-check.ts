import { request as requestHttp } from "node:http"
import { request as requestHttps } from "node:https"
import type { UpstreamTls } from "./dial.js"

/** How often a target is probed, and how many results in a row change its health. */
export interface HealthCheckOptions {
  readonly intervalMs: number
  /** Failed probes in a row after which the target receives no requests. */
  readonly unhealthyAfter: number
  /** Successful probes in a row after which it receives requests again. */
  readonly healthyAfter: number
}

export interface CheckedTarget {
  readonly origin: string
  isHealthy: boolean
}

/** Resolves to undefined for a healthy target, otherwise to the reason why it is not. */
export type Probe = (origin: string) => Promise<string | undefined>

export type OnHealthChange = (target: CheckedTarget, reason: string | undefined) => void

/** Probes one target periodically until it is stopped. The first result takes effect at once. */
export class HealthCheck {
  readonly #target: CheckedTarget
  readonly #probe: Probe
  readonly #options: HealthCheckOptions
  readonly #onChange: OnHealthChange
  #timer: NodeJS.Timeout | undefined
  /** Results in a row that contradict the target's health. */
  #inRow = 0
  #isStopped = false

  constructor(
    target: CheckedTarget,
    probe: Probe,
    options: HealthCheckOptions,
    onChange: OnHealthChange = () => {},
  ) {
    this.#target = target
    this.#probe = probe
    this.#options = options
    this.#onChange = onChange
  }

  /** Resolves after the first probe. */
  async start(): Promise<void> {
    const reason = await this.#probe(this.#target.origin)
    if (this.#isStopped) return
    if (reason !== undefined) this.#change(false, reason)
    this.#schedule()
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    const { intervalMs } = this.#options
    // Jitter: a fleet of gateways must not probe at the same moment.
    const ms = intervalMs * (0.9 + 0.2 * Math.random())
    this.#timer = setTimeout(() => void this.#check(), ms).unref()
  }

  async #check(): Promise<void> {
    const reason = await this.#probe(this.#target.origin)
    if (this.#isStopped) return
    const { unhealthyAfter, healthyAfter } = this.#options
    const isHealthy = reason === undefined
    if (isHealthy === this.#target.isHealthy) this.#inRow = 0
    else if (++this.#inRow >= (isHealthy ? healthyAfter : unhealthyAfter)) this.#change(isHealthy, reason)
    this.#schedule()
  }

  #change(isHealthy: boolean, reason: string | undefined): void {
    this.#inRow = 0
    this.#target.isHealthy = isHealthy
    this.#onChange(this.#target, reason)
  }
}

export interface ProbeOptions {
  readonly path: string
  readonly timeoutMs: number
  readonly tls?: UpstreamTls | undefined
}

/**
 * Sends one GET to a target on a connection of its own. A status from 200 to 399 is healthy. Resolves to the reason when the
 * target is not; never rejects.
 */
export function probe(origin: string, options: ProbeOptions): Promise<string | undefined> {
  const { path, timeoutMs, tls } = options
  const url = new URL(path, origin)
  const send = url.protocol === "https:" ? requestHttps : requestHttp
  return new Promise((resolve) => {
    const request = send(url, {
      agent: false,
      // Explicit, because NODE_TLS_REJECT_UNAUTHORIZED changes the default.
      rejectUnauthorized: true,
      headers: { "user-agent": "sluice-health", connection: "close" },
      ...(tls?.ca === undefined ? {} : { ca: tls.ca }),
      ...(tls?.serverName === undefined ? {} : { servername: tls.serverName }),
    })
    // Covers the whole exchange: a target that sends its head byte by byte is not healthy.
    const timer = setTimeout(() => request.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
    const finish = (reason?: string) => {
      clearTimeout(timer)
      resolve(reason)
      request.destroy()
    }
    request.on("response", ({ statusCode = 0 }) =>
      finish(statusCode >= 200 && statusCode < 400 ? undefined : `answered ${statusCode}`),
    )
    request.on("upgrade", () => finish("answered 101"))
    request.on("error", (error) => finish(error.message))
    request.end()
  })
}
