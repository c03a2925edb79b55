// Opens the configured protocols. The code of a protocol is loaded only when it is enabled.

import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { guardRailsOf } from "../../config/as-options.js"
import { type Config, runsExample } from "../../config/schema.js"
import type { RoleTokenSpec } from "../../control/api/roles.js"
import type { Core } from "../../core.js"
import { inheritedSocket, type Listener } from "../../listener.js"
import type { WatchHub } from "../../telemetry/hub.js"
import { VERSION } from "../../version.js"
import { startHttp } from "./control-listener.js"
import type { Readiness } from "./readiness.js"

export type PlaneName = "http" | "grpc" | "resp" | "control" | "gateway"

export interface PlaneContext {
  readonly config: Config
  readonly core: Core
  readonly watch: WatchHub
  readonly readiness: Readiness
  /** Tokens that the service made for the control plane because none are configured. */
  readonly ownTokens: readonly RoleTokenSpec[]
}

export interface Plane {
  readonly name: PlaneName
  readonly address: { readonly host: string; readonly port: number }
  start(): Promise<PlaneListener>
}

export interface PlaneListener extends Listener {
  /** Applies those changes of the configuration that need no restart. */
  follow?(config: Config): Promise<void>
}

const DASHBOARD = fileURLToPath(new URL("../../../../dashboard/dist", import.meta.url))

/** The folder of the built dashboard, or undefined if it was not built. The API works without it. */
export function bundledDashboard(): string | undefined {
  return existsSync(join(DASHBOARD, "index.html")) ? DASHBOARD : undefined
}

/** Opens those of the named planes that the configuration enables. */
export async function openPlanes(context: PlaneContext, names: readonly PlaneName[]): Promise<Plane[]> {
  const { config } = context
  const opened: Plane[] = []
  if (names.includes("http") && config.http.enabled) opened.push(await dataPlane(context))
  if (names.includes("grpc") && config.grpc.enabled) opened.push(await envoyPlane(context))
  if (names.includes("resp") && config.resp.enabled) opened.push(await respPlane(context))
  if (names.includes("control") && config.control.enabled) opened.push(await controlPlane(context))
  if (names.includes("gateway") && config.gateway.enabled) opened.push(await gatewayPlane(context))
  return opened
}

async function dataPlane({ config, core, watch, readiness }: PlaneContext): Promise<Plane> {
  const [{ createCheckApi }, { listenForChecks }, { createJsonHandler }] = await Promise.all([
    import("../../check-api/check-api.js"),
    import("../../check-api/listen.js"),
    import("../../envoy/json-handler.js"),
  ])
  const handler = createCheckApi(core, {
    readiness,
    json: createJsonHandler(core, { onError: logErrors(watch) }),
    trustedProxies: config.trustedProxies,
    access: config.http,
    refundAndReset: config.http.refundAndReset,
    maxBodyBytes: config.limits.bodyBytes,
    maxBatch: config.limits.batch,
    version: VERSION,
    onError: logErrors(watch),
  })
  return {
    name: "http",
    address: config.http,
    start: () =>
      listenForChecks({ host: config.http.host, port: config.http.port, ...bounds(config), handler }),
  }
}

async function envoyPlane({ config, core, watch, readiness }: PlaneContext): Promise<Plane> {
  const { startEnvoy } = await import("../../envoy/start-envoy.js")
  const { host, port } = config.grpc
  return {
    name: "grpc",
    address: config.grpc,
    async start() {
      const listener = await startEnvoy(core, {
        host,
        port,
        ...bounds(config),
        maxMessageBytes: config.limits.bodyBytes,
        onError: logErrors(watch),
      })
      readiness.onDrain(() => listener.setServing(false))
      return listener
    },
  }
}

async function respPlane({ config, core, watch }: PlaneContext): Promise<Plane> {
  const { startResp } = await import("../../resp/resp-listener.js")
  const { host, port, password } = config.resp
  const { connections, requestTimeout } = config.limits
  return {
    name: "resp",
    address: config.resp,
    start: () =>
      startResp(core, {
        host,
        port,
        password,
        prefix: config.prefix,
        maxConnections: connections,
        slowMs: requestTimeout,
        onError: logErrors(watch),
      }),
  }
}

async function gatewayPlane({ config, core, watch }: PlaneContext): Promise<Plane> {
  const { startGateway } = await import("../../gateway/start-gateway.js")
  const { gateway: settings, limits, trustedProxies } = config
  return {
    name: "gateway",
    address: settings,
    async start() {
      const fd = inheritedSocket()
      const gateway = await startGateway(core, { settings, limits, trustedProxies, fd, hub: watch })
      return {
        address: gateway.address,
        close: (deadlineMs) => gateway.close(deadlineMs),
        follow: (next) => gateway.reload(next.gateway),
      }
    },
  }
}

async function controlPlane({ config, core, watch, readiness, ownTokens }: PlaneContext): Promise<Plane> {
  const [{ createControlPlane }, { REPLAY_DEADLINE_MS }] = await Promise.all([
    import("../../control/plane.js"),
    import("../../control/replay/replays.js"),
  ])
  const { host, port, tokens, audit, dashboard = bundledDashboard() } = config.control
  const app = createControlPlane(core, {
    watch,
    tokens: [...tokens, ...ownTokens],
    audit,
    dashboard,
    sampleTraffic: runsExample(config),
    readiness,
    version: VERSION,
    maxBodyBytes: config.limits.bodyBytes,
    bodyTimeoutMs: config.limits.requestTimeout,
    replay: { maxBytes: config.limits.replayBytes, idleMs: config.limits.requestTimeout },
    guardRails: guardRailsOf(config),
    onError: logErrors(watch),
  })
  return {
    name: "control",
    address: config.control,
    async start() {
      const uploadTimeoutMs = REPLAY_DEADLINE_MS
      const listener = await startHttp({ host, port, ...bounds(config), uploadTimeoutMs, app })
      // Streams of live events would keep their connections until the deadline, so they end first.
      readiness.onDrain(() => app.close())
      return {
        address: listener.address,
        close(deadlineMs) {
          app.close()
          return listener.close(deadlineMs)
        },
      }
    },
  }
}

function logErrors({ log }: WatchHub): (error: unknown) => void {
  return (error) =>
    log.error({ error: error instanceof Error ? error.stack : String(error) }, "a request failed")
}

function bounds({ limits }: Config) {
  return {
    requestTimeoutMs: limits.requestTimeout,
    answerTimeoutMs: limits.answerTimeout,
    keepAliveMs: limits.keepAlive,
    maxHeaderBytes: limits.headerBytes,
    maxConnections: limits.connections,
  }
}
