// Starts the whole service from its configuration: store, rules, secret, engine, and the protocols in front of them.

import type { Config } from "../config/schema.js"
import type { Core } from "../core.js"
import { createWatch, type WatchHub } from "../telemetry/hub.js"
import { createLog, type Log } from "../telemetry/log.js"
import { VERSION } from "../version.js"
import { asTokens, type ControlToken, ownControlToken } from "./control-token.js"
import { openRules } from "./rules.js"
import { findSecret } from "./secret.js"
import { openCore, openStore } from "./serving/open-core.js"
import type { PlaneName } from "./serving/planes.js"
import { Closers, logCloseFailure, serve } from "./serving/serve.js"
import type { FleetOptions } from "./workers/fleet.js"

export interface Service {
  readonly core: Core
  readonly watch: WatchHub
  readonly log: Log
  /** The `host:port` of each protocol that listens. */
  readonly addresses: Readonly<Partial<Record<PlaneName, string>>>
  /** The token that the service made for the control plane because none is configured. */
  readonly controlToken: ControlToken | undefined
  /** Reads the rules again now. */
  reload(): Promise<void>
  /** Applies those changes of the configuration that need no restart. */
  follow(config: Config): Promise<void>
  /** Reports not ready, drains, and cuts what is left after the deadline. A second call waits for the first. */
  close(): Promise<void>
}

export interface ServiceOptions {
  readonly log?: Log
  /** Whether the log says when the service is ready. Default: true. */
  readonly logsReady?: boolean
}

/** Starts the service. When it cannot start, it closes what it has opened and rejects. */
export async function startService(config: Config, options: ServiceOptions = {}): Promise<Service> {
  const closers = new Closers()
  try {
    const log = options.log ?? createLog({ level: config.log.level })
    const watch = createWatch({
      log,
      denialsPerSecond: config.log.denials,
      accuracyKeys: config.accuracy.keys,
      version: VERSION,
      workers: config.workers,
    })
    closers.add(() => watch.close())
    // With workers, each worker exports its own decisions.
    if (config.openTelemetry && config.workers === 1) await watch.export()
    return await startAll(config, watch, closers, options.logsReady ?? true)
  } catch (error) {
    await closers.close().catch(() => {})
    throw error
  }
}

async function startAll(
  config: Config,
  watch: WatchHub,
  closers: Closers,
  logsReady: boolean,
): Promise<Service> {
  const { log } = watch
  const { control } = config
  if (control.enabled) {
    const { assertSafeToListen } = await import("../control/api/access.js")
    assertSafeToListen(control.host, control.tokens)
  }
  const controlToken = ownControlToken(config, log)
  const { core, secret } = await openAll(config, watch, closers)
  const isAlone = config.workers === 1
  const fleet = isAlone ? undefined : await startFleet({ config, core, secret, watch }, closers)
  // With workers, this process keeps counters, metrics and rules. The workers serve requests, and wait for load balancers.
  const planes: PlaneName[] = isAlone ? ["http", "grpc", "resp", "control", "gateway"] : ["control"]
  const drain = isAlone ? config.drain : { ...config.drain, delay: 0 }
  const ownTokens = asTokens(controlToken)
  const serving = await serve({ config: { ...config, drain }, core, watch, closers, planes, ownTokens })
  const addresses = { ...fleet?.addresses, ...serving.addresses }
  const store = config.store.url === "memory" ? "memory" : "redis"
  if (logsReady)
    log.info({ addresses, store, workers: config.workers, ...serving.readiness.report(core) }, "ready")
  return {
    core,
    watch,
    log,
    addresses,
    controlToken,
    reload: async () => await core.rules.reload?.(),
    async follow(next) {
      fleet?.follow(next)
      await serving.follow(next)
    },
    async close() {
      log.info("draining")
      serving.readiness.drain()
      try {
        await fleet?.close()
        await serving.close()
        log.info("stopped")
      } catch (error) {
        logCloseFailure(log, error)
        throw error
      }
    },
  }
}

async function startFleet(options: FleetOptions, closers: Closers) {
  const { Fleet } = await import("./workers/fleet.js")
  const fleet = new Fleet(options)
  closers.add(() => fleet.close())
  return {
    addresses: await fleet.start(),
    follow: (config: Config) => fleet.follow(config),
    close: () => fleet.close(),
  }
}

async function openAll(config: Config, watch: WatchHub, closers: Closers) {
  const store = await openStore(config.store, watch)
  closers.add(() => store.close())
  const rules = await openRules(config, watch.log)
  closers.add(() => rules.close())
  const secret = await findSecret(config, watch.log)
  const records = config.workers === 1
  const core = openCore({ config, watch, store, rules: rules.source, secret, records }, closers)
  return { core, secret }
}
