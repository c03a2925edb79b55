// The workers of a primary: started, fed, and started again when one dies.

import cluster, { type Worker } from "node:cluster"
import { fileURLToPath } from "node:url"
import type { EditableRuleSource } from "sluice/rules"
import type { Config } from "../../config/schema.js"
import type { Core } from "../../core.js"
import type { WatchHub } from "../../telemetry/index.js"
import { inheritedSocket } from "../inherited-socket.js"
import { ListenError } from "../listen-error.js"
import { WorkerError } from "../user-error.js"
import type { FromPrimary, FromWorker } from "./messages.js"
import { closeUntakenOf } from "./orphaned-connections.js"
import { StoreOwner } from "./store-owner.js"

export interface FleetOptions {
  readonly config: Config
  readonly core: Core
  readonly secret: string | undefined
  readonly watch: WatchHub
}

const PROGRAM = fileURLToPath(new URL("../../main.js", import.meta.url))
/** A worker that dies at once, again and again, must not keep the machine busy with starting it. */
const RESTART_MS = 100
const LONGEST_RESTART_MS = 5_000
/** How often stale rules are told of: they are no new revision. */
const LOOK_MS = 1_000
/** On top of what draining may take. */
const GRACE_MS = 2_000

export class Fleet {
  readonly #options: FleetOptions
  readonly #owner: StoreOwner
  readonly #workers = new Set<Worker>()
  /** Those that were told to start. The others have nothing to drain, and do not listen to what they are told. */
  readonly #starting = new WeakSet<Worker>()
  readonly #timer: NodeJS.Timeout
  readonly #unfollow: () => void
  /** For workers that start from now on. */
  #config: Config
  #restartMs = RESTART_MS
  #draining = false
  #closed: Promise<void> | undefined
  #wasStale = false

  constructor(options: FleetOptions) {
    this.#options = options
    this.#config = options.config
    this.#owner = new StoreOwner(options.core.store)
    // Workers accept from a socket of the service manager themselves. If this process did it for them, connections that it
    // has not handed to anybody when the last worker goes would be lost.
    if (inheritedSocket() !== undefined) cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({ exec: PROGRAM, args: [], serialization: "advanced" })
    this.#unfollow = options.core.rules.subscribe(() => this.#tellRules())
    this.#timer = setInterval(() => {
      if (options.core.rules.stale !== this.#wasStale) this.#tellRules()
    }, LOOK_MS).unref()
  }

  /** Starts them all. Resolves with where they listen once all of them do. */
  async start(): Promise<Readonly<Record<string, string>>> {
    const { workers } = this.#options.config
    // One after the other: with port 0 the first one's port is everybody's.
    const first = await this.#fork()
    await Promise.all(Array.from({ length: workers - 1 }, () => this.#fork()))
    return first
  }

  /** Tells every worker to follow a changed configuration. */
  follow(config: Config): void {
    this.#config = config
    for (const worker of this.#workers) send(worker, { type: "follow", config })
  }

  /** Every worker drains, and ends. One that does not is killed. May be called twice. */
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
    closeUntakenOf(worker)
    worker.on("error", (error) => this.#options.watch.log.error({ error: error.message }, "a worker failed"))
    return new Promise((resolve, reject) => {
      worker.on("message", (message: FromWorker) => {
        if (message.type === "ready") {
          this.#restartMs = RESTART_MS
          // It may have missed a change while it was starting.
          this.#tellRules(worker)
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
      // Its end is on its way to it.
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
    this.#options.watch.log.error({ code, signal }, "a worker ended; another one takes its place")
    setTimeout(() => {
      if (this.#draining) return
      this.#fork().catch((error: unknown) => {
        if (this.#draining) return
        this.#options.watch.log.error({ error: (error as Error).message }, "a worker could not be started")
      })
    }, this.#restartMs).unref()
    this.#restartMs = Math.min(LONGEST_RESTART_MS, this.#restartMs * 2)
  }

  #tellRules(only?: Worker): void {
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

/** To a worker that may just have died: its end is told by `exit`, and a message that did not arrive by nobody. */
function send(worker: Worker, message: FromPrimary): void {
  if (worker.isConnected()) worker.send(message, () => {})
}
