// A worker: the protocols that clients speak, and an engine of its own behind them.

import { inspect } from "node:util"
import { createRuleEngine } from "sluice/rules"
import type { Core } from "../../core.js"
import { openRecord } from "../../record/open-record.js"
import { createLog, createWatch, type WatchHub } from "../../telemetry/index.js"
import { Closers } from "../closers.js"
import { ListenError } from "../listen-error.js"
import { logNotClosed } from "../not-closed.js"
import { logNotReloaded } from "../not-reloaded.js"
import { serve } from "../serve.js"
import { openStore } from "../store.js"
import { isExplained } from "../user-error.js"
import { VERSION } from "../version.js"
import { FollowedRules } from "./followed-rules.js"
import type { FromPrimary, FromWorker } from "./messages.js"
import { RemoteStore } from "./remote-store.js"

/** Runs this process as a worker of its primary, from now until it is told to drain. */
export function runWorker(): void {
  // Ctrl-C reaches every process of the terminal; when to stop is for the primary to say.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {})
  // Without its primary a worker has no counters and nobody to stop it.
  process.on("disconnect", () => process.exit(isDrained ? 0 : 1))
  process.on("message", (message: FromPrimary) => {
    if (message.type === "start") started = start(message).catch(failed)
    // What was begun is finished first: it may listen already, and connections have come.
    else if (message.type === "drain") void started.then(() => drain())
  })
  tell({ type: "hello" })
}

let started: Promise<void> = Promise.resolve()
/** Until it serves there is nothing to drain. */
let drain: () => void = () => process.exit(0)
let isDrained = false

function tell(message: FromWorker): void {
  // The primary may be gone already; `disconnect` then ends this process.
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}

function failed(error: unknown): void {
  const expected = isExplained(error)
  const listen = error instanceof ListenError ? error.failed : undefined
  tell({ type: "failed", message: expected ? error.message : inspect(error), expected, listen })
}

async function start({ config, secret, rules: first }: FromPrimary & { type: "start" }): Promise<void> {
  const closers = new Closers()
  const watch = createWatch({
    log: createLog({ level: config.log.level }),
    denialsPerSecond: config.log.denials,
    accuracyKeys: config.accuracy.keys,
    version: VERSION,
  })
  closers.add(() => watch.close())
  watch.reportTo((report) => tell({ type: "watch", report }))
  if (config.openTelemetry) await watch.export()
  const rules = new FollowedRules(first)
  const { store, remote } = await storeOf(config.store, watch)
  closers.add(() => store.close())
  const engine = createRuleEngine({
    rules,
    store,
    prefix: config.prefix,
    ...(secret === undefined ? {} : { secret }),
    onRefused: (error) => watch.log.error({ code: error.code, error: error.message }, "rules refused"),
  })
  closers.add(() => engine.close())
  watch.attach({ store, rules })
  const record = openRecord(watch, config.record, { engine, log: watch.log })
  closers.add(() => record.close())
  const core: Core = { engine, rules, store, watch: record.watch }
  // Before it listens: the first question may come while the other protocols are still starting.
  process.on("message", (message: FromPrimary) => {
    if (message.type === "results") remote?.answer(message.id, message.results)
    else if (message.type === "rules") rules.follow(JSON.parse(message.rules), message.stale)
  })
  const serving = await serve({ config, core, watch, closers, planes: ["http", "grpc", "resp", "gateway"] })
  process.on("message", (message: FromPrimary) => {
    if (message.type !== "follow") return
    serving.follow(message.config).catch((error: unknown) => logNotReloaded(watch.log, error))
  })
  drain = () => {
    void serving
      .close()
      .catch((error: unknown) => logNotClosed(watch.log, error))
      .finally(() => {
        // The counts of the last second; gone once the channel has taken them.
        watch.tick()
        isDrained = true
        process.disconnect()
      })
  }
  tell({ type: "ready", addresses: serving.addresses })
}

async function storeOf(config: Parameters<typeof openStore>[0], watch: WatchHub) {
  if (config.url !== "memory") return { store: await openStore(config, watch), remote: undefined }
  const remote = new RemoteStore(tell)
  return { store: remote, remote }
}
