import { inspect } from "node:util"
import { SluiceError } from "sluice"
import type { Config } from "../../config/schema.js"
import type { RoleTokenSpec } from "../../control/api/roles.js"
import type { Core } from "../../core.js"
import type { WatchHub } from "../../telemetry/hub.js"
import type { Log } from "../../telemetry/log.js"
import { suggestPorts } from "./free-port.js"
import { openPlanes, type PlaneListener, type PlaneName } from "./planes.js"
import { Readiness } from "./readiness.js"
import { ListenError } from "./start-errors.js"

/** Closes what was opened, the last opened first. One that fails to close does not keep the others open. */
export class Closers {
  readonly #closers: (() => void | Promise<void>)[] = []

  add(close: () => void | Promise<void>): void {
    this.#closers.push(close)
  }

  /** Rejects with the first failure, after everything was closed. */
  async close(): Promise<void> {
    const errors: unknown[] = []
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close()
      } catch (error) {
        errors.push(error)
      }
    }
    if (errors.length > 0) throw errors[0]
  }
}

export interface ServeOptions {
  readonly config: Config
  readonly core: Core
  readonly watch: WatchHub
  /** Closes everything behind the protocols, once these have drained. */
  readonly closers: Closers
  readonly planes: readonly PlaneName[]
  /** Tokens that the service made for the control plane because none are configured. */
  readonly ownTokens?: readonly RoleTokenSpec[]
}

export interface Serving {
  /** The `host:port` of each protocol that listens. */
  readonly addresses: Readonly<Partial<Record<PlaneName, string>>>
  readonly readiness: Readiness
  /** Applies those changes of the configuration that need no restart. */
  follow(config: Config): Promise<void>
  /** Reports not ready, drains, and cuts what is left after the deadline. A second call waits for the first. */
  close(): Promise<void>
}

/** Starts those of the named protocols that the configuration enables. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { config, core, watch, closers, planes, ownTokens = [] } = options
  const readiness = new Readiness()
  const listeners = new Map<PlaneName, PlaneListener>()
  for (const { name, address, start } of await openPlanes(
    { config, core, watch, readiness, ownTokens },
    planes,
  )) {
    const listener = await start().catch(async (cause: unknown) => {
      // The message of a SluiceError explains the mistake already.
      throw (cause as Error).name === "SluiceError"
        ? cause
        : await listenError(config, { name, address, cause }, new Set(listeners.keys()))
    })
    listeners.set(name, listener)
    // Closes the listener at once if another one fails to start. `close` below drains all of them first.
    closers.add(() => listener.close(0))
  }
  let closed: Promise<void> | undefined
  const close = async () => {
    readiness.drain()
    const { delay, deadline } = config.drain
    if (delay > 0) await new Promise((resolve) => setTimeout(resolve, delay))
    await Promise.all([...listeners.values()].map((listener) => listener.close(deadline)))
    await closers.close()
  }
  return {
    addresses: Object.fromEntries([...listeners].map(([name, { address }]) => [name, address])),
    readiness,
    async follow(next) {
      await Promise.all([...listeners.values()].map((listener) => listener.follow?.(next)))
    },
    close() {
      closed ??= close()
      return closed
    },
  }
}

interface Failed {
  readonly name: PlaneName
  readonly address: { readonly host: string; readonly port: number }
  readonly cause: unknown
}

async function listenError(
  config: Config,
  { name, address, cause }: Failed,
  listening: ReadonlySet<PlaneName>,
): Promise<ListenError> {
  const { code } = cause as NodeJS.ErrnoException
  const isAboutPorts = code === "EADDRINUSE" || code === "EACCES"
  return new ListenError({
    setting: name,
    host: address.host,
    port: address.port,
    code,
    reason: cause instanceof Error ? cause.message : String(cause),
    suggestions: isAboutPorts ? await suggestPorts(config, listening) : [],
  })
}

/** Logs that the service has stopped but something could not be closed, such as a snapshot on a full disk. */
export function logCloseFailure(log: Log, error: unknown): void {
  if (error instanceof SluiceError)
    log.error({ code: error.code, error: error.message }, "stopped, but could not save everything")
  else log.error({ error: inspect(error) }, "stopped with an error")
}

/** Logs that changed settings or rules were refused. The current ones stay in force. */
export function logReloadFailure(log: Log, error: unknown): void {
  const code = error instanceof SluiceError ? error.code : undefined
  const message = error instanceof Error ? error.message : String(error)
  log.error({ code, error: message }, "reload failed; keeping the current settings and rules")
}
