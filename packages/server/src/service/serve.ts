import { keepTicksQuick } from "sluice/internal"
import type { Config } from "../config/schema.js"
import type { RoleTokenSpec } from "../control/roles.js"
import type { Core } from "../core.js"
import type { WatchHub } from "../telemetry/index.js"
import type { Closers } from "./closers.js"
import { suggestPorts } from "./free-port.js"
import { ListenError } from "./listen-error.js"
import { openPlanes, type PlaneListener, type PlaneName } from "./planes.js"
import { Readiness } from "./readiness.js"

export interface ServeOptions {
  readonly config: Config
  readonly core: Core
  readonly watch: WatchHub
  /** What is closed behind the protocols, once they have drained. */
  readonly closers: Closers
  readonly planes: readonly PlaneName[]
  /** Of the control plane, where none are configured. */
  readonly ownTokens?: readonly RoleTokenSpec[]
}

export interface Serving {
  /** `host:port` of everything that listens. */
  readonly addresses: Readonly<Partial<Record<PlaneName, string>>>
  readonly readiness: Readiness
  /** Follows a changed configuration, as far as that is possible without a restart. */
  follow(config: Config): Promise<void>
  /** Not ready, then drains, then cuts what is left. May be called twice. */
  close(): Promise<void>
}

/** Starts the protocols that are asked for and configured. */
export async function serve(options: ServeOptions): Promise<Serving> {
  const { config, core, watch, closers, planes, ownTokens = [] } = options
  keepTicksQuick()
  const readiness = new Readiness()
  const listeners = new Map<PlaneName, PlaneListener>()
  for (const { name, address, start } of await openPlanes(
    { config, core, watch, readiness, ownTokens },
    planes,
  )) {
    const listener = await start().catch(async (cause: unknown) => {
      // A mistake of the configuration explains itself.
      throw (cause as Error).name === "SluiceError"
        ? cause
        : await listenError(config, { name, address, cause }, new Set(listeners.keys()))
    })
    listeners.set(name, listener)
    // For a start that fails halfway: `close` drains it before anything is closed.
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
