// Starts the gateway from its section of the configuration: routes, listener, certificate and access log. Reloads what can
// change while it runs.

import { isDeepStrictEqual } from "node:util"
import { SluiceError } from "sluice"
import { type CertificateFiles, FollowedCertificate } from "../certificates.js"
import type { GatewaySettings } from "../config/gateway-schema.js"
import type { Config } from "../config/schema.js"
import type { Core } from "../core.js"
import type { Http1Listener } from "../http1/listener.js"
import type { Listener } from "../listener.js"
import type { WatchHub } from "../telemetry/hub.js"
import type { Log } from "../telemetry/log.js"
import { AccessLog, RouteWatch } from "./access-log/access-log.js"
import { FailureLog } from "./access-log/failure-log.js"
import type { WriterTrouble } from "./access-log/line-writer.js"
import { Gateway } from "./front/gateway.js"
import { createLimiting } from "./front/limiting.js"
import { listen } from "./listen/listen.js"
import { LiveRoutes } from "./routes/live-routes.js"
import type { CheckedTarget } from "./upstream/health-check.js"

export interface StartGatewayOptions {
  readonly settings: GatewaySettings
  readonly limits: Config["limits"]
  /** Proxies whose forwarding headers are trusted, unless the rule set names others. */
  readonly trustedProxies?: readonly string[] | undefined
  /** A listening socket, in place of `settings.host` and `settings.port`. */
  readonly fd?: number | undefined
  /** Counts requests by route. */
  readonly hub?: WatchHub | undefined
  readonly log?: Log | undefined
}

export interface StartedGateway extends Listener {
  /** Applies changed settings, except the address. Rejects and keeps the current settings when they are not usable. */
  reload(settings: GatewaySettings): Promise<void>
}

export async function startGateway(core: Core, options: StartGatewayOptions): Promise<StartedGateway> {
  const running = new RunningGateway(core, options)
  try {
    await running.start()
  } catch (error) {
    await running.stop()
    throw error
  }
  return running
}

class RunningGateway implements StartedGateway {
  readonly #options: StartGatewayOptions
  readonly #log: Log | undefined
  readonly #routes: LiveRoutes
  readonly #watch: RouteWatch
  readonly #gateway: Gateway
  #accessLog: GatewaySettings["accessLog"]
  #certificate: FollowedCertificate | undefined
  #listener: Http1Listener | undefined
  #closed: Promise<void> | undefined

  constructor(core: Core, options: StartGatewayOptions) {
    const { settings, limits, hub, trustedProxies } = options
    const log = options.log ?? hub?.log
    const onError = (error: unknown) =>
      log?.error({ error: error instanceof Error ? error.stack : String(error) }, "request failed")
    this.#options = options
    this.#log = log
    this.#routes = new LiveRoutes({ onHealthChange: (target, reason) => logHealth(log, target, reason) })
    this.#watch = new RouteWatch(hub?.routes)
    this.#accessLog = settings.accessLog
    const failures = log && new FailureLog(log)
    this.#gateway = new Gateway({
      routes: this.#routes,
      limiting: createLimiting(core, { maxHeld: settings.held, trustedProxies, onError }),
      watch: this.#watch,
      maxHeaders: limits.headers,
      maxUpgrades: settings.upgrades,
      clientShare: settings.clientShare,
      onUpstreamFailure: failures && ((failure) => failures.failed(failure)),
      onError,
    })
  }

  get address(): string {
    return this.#listener?.address ?? ""
  }

  async start(): Promise<void> {
    const { settings, limits, fd, hub } = this.#options
    this.#certificate = this.#followCertificate(filesOf(settings))
    this.#watch.log = openAccessLog(settings.accessLog, this.#log)
    await this.#routes.follow(settings)
    this.#listener = await listen({
      host: settings.host,
      port: settings.port,
      fd,
      gateway: this.#gateway,
      certificate: this.#certificate?.current,
      http2: settings.http2,
      headTimeoutMs: limits.requestTimeout,
      keepAliveMs: limits.keepAlive,
      maxHeaderBytes: limits.headerBytes,
      maxHeaders: limits.headers,
      maxConnections: limits.connections,
      answerIdleMs: longestIdle(settings),
    })
    hub?.attach({
      gateway: () => ({ targets: this.#routes.targets(), upgrades: this.#gateway.upgrades }),
    })
  }

  async reload(settings: GatewaySettings): Promise<void> {
    const files = filesOf(settings)
    if ((files === undefined) !== (this.#certificate === undefined))
      throw new SluiceError("OPTION_CONFLICT", {
        place: "gateway.tls",
        expected: "cannot be added or removed while the gateway runs: restart it",
      })
    const isSameLog = isDeepStrictEqual(settings.accessLog, this.#accessLog)
    const log = isSameLog ? undefined : openAccessLog(settings.accessLog, this.#log)
    try {
      await this.#routes.follow(settings)
    } catch (error) {
      await log?.close()
      throw error
    }
    this.#certificate?.look(files)
    const before = this.#watch.log
    if (isSameLog) return await before?.reopen()
    this.#accessLog = settings.accessLog
    this.#watch.log = log
    await before?.close()
  }

  close(deadlineMs?: number): Promise<void> {
    this.#closed ??= this.#close(deadlineMs)
    return this.#closed
  }

  async #close(deadlineMs: number | undefined): Promise<void> {
    await this.#listener?.close(deadlineMs)
    await this.stop()
  }

  /** Releases everything except the port. */
  async stop(): Promise<void> {
    this.#certificate?.stop()
    await this.#routes.close()
    await this.#watch.log?.close()
  }

  #followCertificate(files: CertificateFiles | undefined): FollowedCertificate | undefined {
    if (files === undefined) return undefined
    return new FollowedCertificate(files, {
      onChange: (next) => {
        this.#listener?.setCertificate(next)
        this.#log?.info("certificate renewed")
      },
      onRefused: (error) =>
        this.#log?.error(
          { code: error.code, error: error.message },
          "certificate not usable; the current one stays in use",
        ),
    })
  }
}

/** The longest `bodyIdle` of all routes; undefined when there is no limit. */
function longestIdle({ deadlines, routes }: GatewaySettings): number | undefined {
  const all = [deadlines.bodyIdle, ...routes.map((route) => route.deadlines.bodyIdle ?? 0)]
  return Math.max(...all) || undefined
}

function filesOf({ tls: { cert, key } }: GatewaySettings): CertificateFiles | undefined {
  return cert === undefined || key === undefined ? undefined : { cert, key }
}

function openAccessLog(settings: GatewaySettings["accessLog"], log: Log | undefined): AccessLog | undefined {
  const { format, file } = settings
  if (format === "off") return undefined
  return new AccessLog({ format, file, onTrouble: (trouble) => logTrouble(log, trouble) })
}

function logTrouble(log: Log | undefined, trouble: WriterTrouble): void {
  const { dropped, error } = trouble
  const what =
    dropped === undefined ? `write failed (${error})` : `${dropped} lines dropped (reader too slow)`
  log?.warn(trouble, `access log: ${what}`)
}

function logHealth(log: Log | undefined, { origin, isHealthy }: CheckedTarget, reason?: string): void {
  if (isHealthy) log?.info({ target: origin }, "target is healthy again")
  else log?.warn({ target: origin, reason }, "target failed its health check and receives no requests")
}
