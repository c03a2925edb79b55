// client → Envoy → application; Envoy calls Sluice.

import { ManualClock } from "sluice/testing"
import { expect } from "vitest"
import type { Decided } from "../../packages/server/src/core.js"
import { type EnvoyListener, startEnvoy } from "../../packages/server/src/envoy/start-envoy.js"
import { openCore, portOf } from "../service/bed.js"
import { type Answer, ask, startApplication } from "../service/proxy.js"
import { afterThis } from "../support/after-this.js"
import { eventually } from "../support/eventually.js"
import { type EnvoyOptions, startEnvoyProxy } from "./envoy.js"
import type { Recording } from "./recording.js"
import { openTap, save, type Tap } from "./tap.js"

const isRecording = process.env.SLUICE_RECORD === "1"
const recordings: Recording[] = []

export interface Instance extends EnvoyListener {
  readonly port: number
  readonly decided: readonly Decided[]
  readonly errors: readonly unknown[]
}

export interface InstanceOptions {
  readonly rules: string
  readonly clock?: ManualClock
  readonly port?: number
  readonly responseHeaders?: boolean
}

/** An instance of the service: its gRPC listener, on counters of its own. */
export async function startInstance(options: InstanceOptions): Promise<Instance> {
  const { rules, clock = new ManualClock(), port = 0, ...more } = options
  const { core, decided, close } = openCore(rules, clock)
  afterThis(close)
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const listener = await startEnvoy(core, { host: "127.0.0.1", port, onError, ...more })
  afterThis(() => listener.close(0))
  return { ...listener, port: portOf(listener.address), decided, errors }
}

export interface Edge {
  get(path: string, headers?: Record<string, string>): Promise<Answer>
  /** The statuses of so many requests of one user, one after the other. */
  statusesOf(user: string, times: number, path?: string): Promise<number[]>
  /** The requests that reached the application. */
  readonly seen: readonly { readonly url: string | undefined }[]
}

export async function startEdge(sluice: readonly number[], options: EnvoyOptions): Promise<Edge> {
  const application = await startApplication()
  afterThis(() => application.close())
  const proxy = await startEnvoyProxy({ sluice, application: application.port }, options)
  afterThis(() => proxy.stop())
  const get = (path: string, headers: Record<string, string> = {}) => ask(proxy.port, { path, headers })
  return {
    get,
    seen: application.seen,
    async statusesOf(user, times, path = "/items") {
      const statuses: number[] = []
      for (let i = 0; i < times; i++) statuses.push((await get(path, { "x-user": user })).status)
      return statuses
    },
  }
}

export interface Bed extends Edge {
  readonly sluice: Instance
  readonly decided: readonly Decided[]
  /** Moves the service's clock on. */
  advance(ms: number): void
}

/** One instance, and Envoy in front of it, after its first call. */
export async function start(
  rules: string,
  edge: EnvoyOptions,
  options: Recording["options"] = {},
): Promise<Bed> {
  const clock = new ManualClock()
  const sluice = await startInstance({ rules, clock, ...options })
  const tap = isRecording ? await startTap(sluice.port, rules, options) : undefined
  const proxied = await startEdge([tap?.port ?? sluice.port], edge)
  // Envoy allows every request until it has found the rate limit service.
  await eventually(async () => {
    await proxied.get("/warm-up", { "x-user": "nobody", "x-cost": "1" })
    return sluice.decided.length > 0
  })
  return {
    ...proxied,
    sluice,
    decided: sluice.decided,
    advance(ms) {
      clock.advance(ms)
      tap?.advanced(ms)
    },
  }
}

/** Records the conversation under the name of the test. */
async function startTap(port: number, rules: string, options: Recording["options"]): Promise<Tap> {
  const scenario = expect.getState().currentTestName ?? ""
  const tap = await openTap(port)
  afterThis(async () => {
    // More than one connection means that the service was away in between.
    const [first, ...more] = await tap.close()
    if (first !== undefined && more.length === 0) recordings.push({ scenario, rules, options, ...first })
  })
  return tap
}

/** Call it after all tests. */
export function saveRecordings(): void {
  if (isRecording) save(recordings)
}
