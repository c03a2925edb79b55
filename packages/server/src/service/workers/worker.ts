// A worker process: it serves the protocols that clients speak, with an engine of its own behind them.

import { inspect } from "node:util"
import { createWatch, type WatchHub } from "../../telemetry/hub.js"
import { createLog } from "../../telemetry/log.js"
import { VERSION } from "../../version.js"
import { openCore, openStore } from "../serving/open-core.js"
import { Closers, logCloseFailure, logReloadFailure, serve } from "../serving/serve.js"
import { isUserError, ListenError } from "../serving/start-errors.js"
import { FollowedRules } from "./followed-rules.js"
import type { FromPrimary, FromWorker } from "./messages.js"
import { RemoteStore } from "./remote-store.js"

/** Runs this process as a worker until the primary tells it to drain. */
export function runWorker(): void {
  // Ctrl-C reaches every process of the terminal, but the primary decides when a worker stops.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {})
  // Without the primary a worker has no counters and nobody to stop it.
  process.on("disconnect", () => process.exit(isDrained ? 0 : 1))
  process.on("message", (message: FromPrimary) => {
    if (message.type === "start") started = start(message).catch(failed)
    // The start finishes first: the worker may listen already and have connections.
    else if (message.type === "drain") void started.then(() => drain())
  })
  send({ type: "hello" })
}

let started: Promise<void> = Promise.resolve()
/** Ends the process at once until the worker serves: there is nothing to drain before. */
let drain: () => void = () => process.exit(0)
let isDrained = false

function send(message: FromWorker): void {
  // If the primary is gone already, `disconnect` ends this process.
  if (process.connected) process.send?.(message, undefined, undefined, () => {})
}

function failed(error: unknown): void {
  const expected = isUserError(error)
  const listen = error instanceof ListenError ? error.failed : undefined
  send({ type: "failed", message: expected ? error.message : inspect(error), expected, listen })
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
  watch.reportTo((report) => send({ type: "watch", report }))
  if (config.openTelemetry) await watch.export()
  const rules = new FollowedRules(first)
  const { store, remote } = await storeOf(config.store, watch)
  closers.add(() => store.close())
  const core = openCore({ config, watch, store, rules, secret, records: true }, closers)
  // Answers of the primary are read before the worker listens: a request may come while other protocols still start.
  process.on("message", (message: FromPrimary) => {
    if (message.type === "results") remote?.answer(message.id, message.results)
    else if (message.type === "rules") rules.follow(JSON.parse(message.rules), message.stale)
  })
  const serving = await serve({ config, core, watch, closers, planes: ["http", "grpc", "resp", "gateway"] })
  process.on("message", (message: FromPrimary) => {
    if (message.type !== "follow") return
    serving.follow(message.config).catch((error: unknown) => logReloadFailure(watch.log, error))
  })
  drain = () => {
    void serving
      .close()
      .catch((error: unknown) => logCloseFailure(watch.log, error))
      .finally(() => {
        // Sends the counts of the last second before the channel closes.
        watch.tick()
        isDrained = true
        process.disconnect()
      })
  }
  send({ type: "ready", addresses: serving.addresses })
}

async function storeOf(config: Parameters<typeof openStore>[0], watch: WatchHub) {
  if (config.url !== "memory") return { store: await openStore(config, watch), remote: undefined }
  const remote = new RemoteStore(send)
  return { store: remote, remote }
}
