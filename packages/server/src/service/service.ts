// The whole service from its configuration: store, rules, secret, engine, and the protocols in front of them.

import { createRuleEngine } from "sluice/rules"
import type { Config } from "../config/schema.js"
import type { Core } from "../core.js"
import { openRecord } from "../record/open-record.js"
import { createLog, createWatch, type Log, type WatchHub } from "../telemetry/index.js"
import { Closers } from "./closers.js"
import { asTokens, type ControlToken, ownControlToken } from "./control-token.js"
import { logNotClosed } from "./not-closed.js"
import type { PlaneName } from "./planes.js"
import { openRules } from "./rules.js"
import { findSecret } from "./secret.js"
import { serve } from "./serve.js"
import { openStore } from "./store.js"
import { VERSION } from "./version.js"
import type { FleetOptions } from "./workers/fleet.js"

export interface Service {
  readonly core: Core
  readonly watch: WatchHub
  readonly log: Log
  /** `host:port` of everything that listens. */
  readonly addresses: Readonly<Partial<Record<PlaneName, string>>>
  /** What the control plane asks for, where no tokens are configured. */
  readonly controlToken: ControlToken | undefined
  /** Looks for changed rules now. */
  reload(): Promise<void>
  /** Follows a changed configuration, as far as that is possible without a restart. */
  follow(config: Config): Promise<void>
  /** Not ready, then drains, then cuts what is left. May be called twice. */
  close(): Promise<void>
}

export interface ServiceOptions {
  readonly log?: Log
  /** Whether the log says when the service is ready. Default: true. */
  readonly logsReady?: boolean
}

/** Starts the service. Rejects, with everything closed again, when it cannot. */
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
    // With workers each of them exports what it has decided.
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
    const { assertSafeToListen } = await import("../control/index.js")
    assertSafeToListen(control.host, control.tokens)
  }
  const controlToken = ownControlToken(config, log)
  const { core, secret } = await openCore(config, watch, closers)
  const isAlone = config.workers === 1
  const fleet = isAlone ? undefined : await startFleet({ config, core, secret, watch }, closers)
  // With workers this process counts, watches and is edited; requests are theirs, and so is waiting for balancers.
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
        logNotClosed(log, error)
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

async function openCore(config: Config, watch: WatchHub, closers: Closers) {
  const store = await openStore(config.store, watch)
  closers.add(() => store.close())
  const rules = await openRules(config, watch.log)
  closers.add(() => rules.close())
  const secret = await findSecret(config, watch.log)
  const engine = createRuleEngine({
    rules: rules.source,
    store,
    prefix: config.prefix,
    ...(secret === undefined ? {} : { secret }),
    onRefused: (error) => watch.log.error({ code: error.code, error: error.message }, "rules refused"),
  })
  closers.add(() => engine.close())
  watch.attach({ store, rules: rules.source })
  // With workers each of them records what it has decided.
  const record = openRecord(
    watch,
    config.workers === 1 ? config.record : { ...config.record, file: undefined },
    {
      engine,
      log: watch.log,
    },
  )
  closers.add(() => record.close())
  const core: Core = { engine, rules: rules.source, store, watch: record.watch }
  return { core, secret }
}
