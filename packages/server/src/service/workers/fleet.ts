// The primary's side of the workers: starts them, sends them rules and settings, and replaces one that dies.

import cluster, { type Worker } from "node:cluster"
import { fileURLToPath } from "node:url"
import type { EditableRuleSource } from "sluice/rules"
import type { Config } from "../../config/schema.js"
import type { Core } from "../../core.js"
import { inheritedSocket } from "../../listener.js"
import { closeOrphanedConnections } from "../../node-internals.js"
import type { WatchHub } from "../../telemetry/hub.js"
import { ListenError, WorkerError } from "../serving/start-errors.js"
import type { FromPrimary, FromWorker } from "./messages.js"
import { StoreOwner } from "./store-owner.js"

export interface FleetOptions {
  readonly config: Config
  readonly core: Core
  readonly secret: string | undefined
  readonly watch: WatchHub
}

const PROGRAM = fileURLToPath(new URL("../../main.js", import.meta.url))
/** The pause before a restart doubles up to the maximum, so that a worker that always dies does not keep the machine busy. */
const RESTART_MS = 100
const MAX_RESTART_MS = 5_000
/** How often workers learn whether the rules are stale. That is not a new revision, so no event announces it. */
const STALE_CHECK_MS = 1_000
/** Added to the time that draining may take, before a worker is killed. */
const GRACE_MS = 2_000

export class Fleet {
  readonly #options: FleetOptions
  readonly #owner: StoreOwner
  readonly #workers = new Set<Worker>()
  /** Workers that got `start`. The others have nothing to drain and do not handle messages yet. */
  readonly #starting = new WeakSet<Worker>()
  readonly #timer: NodeJS.Timeout
  readonly #unfollow: () => void
  /** The newest configuration, for workers that start later. */
  #config: Config
  #restartMs = RESTART_MS
  #draining = false
  #closed: Promise<void> | undefined
  #wasStale = false

  constructor(options: FleetOptions) {
    this.#options = options
    this.#config = options.config
    this.#owner = new StoreOwner(options.core.store)
    // Workers accept from a socket of the service manager themselves. If the primary accepted for them, connections that it
    // has not passed on when the last worker ends would be lost.
    if (inheritedSocket() !== undefined) cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({ exec: PROGRAM, args: [], serialization: "advanced" })
    this.#unfollow = options.core.rules.subscribe(() => this.#sendRules())
    this.#timer = setInterval(() => {
      if (options.core.rules.stale !== this.#wasStale) this.#sendRules()
    }, STALE_CHECK_MS).unref()
  }

  /** Starts all workers. Resolves with their addresses once all of them listen. */
  async start(): Promise<Readonly<Record<string, string>>> {
    const { workers } = this.#options.config
    // The first one starts alone: with port 0, the others use the port that it got.
    const first = await this.#fork()
    await Promise.all(Array.from({ length: workers - 1 }, () => this.#fork()))
    return first
  }

  /** Sends a changed configuration to every worker. */
  follow(config: Config): void {
    this.#config = config
    for (const worker of this.#workers) send(worker, { type: "follow", config })
  }

  /** Drains and ends every worker, and kills those that do not end in time. A second call waits for the first. */
  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#draining = true
    clearInterval(this.#timer)
    this.#unfollow()
    const { delay, deadline } = this.#options.config.drain
    const cut = setTimeout(
      () => {
        for (const worker of this.#workers) worker.process.kill("SIGKILL")
      },
      delay + deadline + GRACE_MS,
    )
    const ended = [...this.#workers].map(
      (worker) => new Promise<void>((done) => worker.once("exit", () => done())),
    )
    for (const worker of this.#workers) {
      if (this.#starting.has(worker)) send(worker, { type: "drain" })
      else worker.process.kill("SIGKILL")
    }
    await Promise.all(ended)
    clearTimeout(cut)
  }

  #fork(): Promise<Readonly<Record<string, string>>> {
    const worker = cluster.fork()
    this.#workers.add(worker)
    closeOrphanedConnections(worker)
    worker.on("error", (error) => this.#options.watch.log.error({ error: error.message }, "a worker failed"))
    return new Promise((resolve, reject) => {
      worker.on("message", (message: FromWorker) => {
        if (message.type === "ready") {
          this.#restartMs = RESTART_MS
          // The rules may have changed while the worker was starting.
          this.#sendRules(worker)
          resolve(message.addresses)
        } else if (message.type === "failed") {
          reject(failureOf(message))
          worker.process.kill("SIGKILL")
        } else this.#heard(worker, message)
      })
      worker.once("exit", (code, signal) => {
        this.#workers.delete(worker)
        this.#options.watch.forget(worker.id)
        reject(new Error(`a worker ended with ${signal ?? code} while it was starting`))
        if (!this.#draining) this.#restart(code, signal)
      })
    })
  }

  #heard(worker: Worker, message: FromWorker): void {
    const { core, secret, watch } = this.#options
    if (message.type === "hello") {
      // The worker is about to be killed.
      if (this.#draining) return
      this.#starting.add(worker)
      send(worker, { type: "start", config: this.#config, secret, rules: core.rules.current })
    } else if (message.type === "watch") watch.absorb(worker.id, message.report)
    else if (message.type === "store") {
      const { id } = message
      void this.#owner.answer(message).then((results) => send(worker, { type: "results", id, results }))
    }
  }

  #restart(code: number, signal: string): void {
    this.#options.watch.log.error({ code, signal }, "a worker ended; starting another one")
    setTimeout(() => {
      if (this.#draining) return
      this.#fork().catch((error: unknown) => {
        if (this.#draining) return
        this.#options.watch.log.error({ error: (error as Error).message }, "a worker could not be started")
      })
    }, this.#restartMs).unref()
    this.#restartMs = Math.min(MAX_RESTART_MS, this.#restartMs * 2)
  }

  #sendRules(only?: Worker): void {
    const rules: EditableRuleSource = this.#options.core.rules
    this.#wasStale = rules.stale
    const text = JSON.stringify(rules.current)
    for (const worker of only === undefined ? this.#workers : [only])
      send(worker, { type: "rules", rules: text, stale: rules.stale })
  }
}

function failureOf({ message, expected, listen }: FromWorker & { type: "failed" }): Error {
  if (listen !== undefined) return new ListenError(listen)
  return expected ? new WorkerError(message) : new Error(message)
}

/** Sends a message to a worker that may just have died. Failures are ignored: the `exit` event reports its end. */
function send(worker: Worker, message: FromPrimary): void {
  if (worker.isConnected()) worker.send(message, () => {})
}
