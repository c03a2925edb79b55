// The routes and upstreams of the current configuration. A reload replaces them: requests that already have a route finish on
// it, and an upstream whose settings are the same keeps its connections and its health.

import type { Clock } from "sluice"
import { readAuthority } from "../../certificates.js"
import {
  type GatewaySettings,
  type NamedRoute,
  routesOf,
  type UpstreamSettings,
  upstreamsOf,
} from "../../config/gateway-schema.js"
import type { UpstreamTls } from "../upstream/dial.js"
import { HealthCheck, type OnHealthChange, probe } from "../upstream/health-check.js"
import { Pool } from "../upstream/pool.js"
import { MonitoredTarget } from "../upstream/target.js"
import { BalancedUpstream } from "../upstream/upstream.js"
import { compileRoutes, prefixOf, type Route, type RouteTable } from "./route.js"

export interface LiveRoutesOptions {
  readonly onHealthChange?: OnHealthChange
  readonly clock?: Clock
}

/** The state of a target, for metrics. */
export interface TargetState {
  readonly upstream: string
  readonly target: string
  /** Whether it receives requests: it passes its health check and is not ejected. */
  readonly isUp: boolean
  /** Requests in progress. */
  readonly active: number
}

interface LiveUpstream {
  /** All of its settings as JSON, to detect changes. */
  readonly settingsJson: string
  readonly balanced: BalancedUpstream
  readonly checks: readonly HealthCheck[]
}

export class LiveRoutes implements RouteTable {
  readonly #options: LiveRoutesOptions
  #table: RouteTable = { find: () => undefined }
  #upstreams = new Map<string, LiveUpstream>()
  /** Pools of removed upstreams. Requests may still use them, so their connections close when they become idle. */
  readonly #retired = new Set<Pool>()
  #following: Promise<void> = Promise.resolve()

  constructor(options: LiveRoutesOptions = {}) {
    this.#options = options
  }

  find(host: string | undefined, path: string): Route | undefined {
    return this.#table.find(host, path)
  }

  /** Applies settings after the first health check of new targets. Rejects and changes nothing when they are not usable. */
  follow(settings: GatewaySettings): Promise<void> {
    // One at a time, so that the latest settings win.
    const followed = this.#following.then(() => this.#follow(settings))
    this.#following = followed.catch(() => {})
    return followed
  }

  targets(): TargetState[] {
    return [...this.#upstreams.values()].flatMap(({ balanced }) =>
      balanced.targets.map(({ origin, isHealthy, isEjected, active }) => ({
        upstream: balanced.name,
        target: origin,
        isUp: isHealthy && !isEjected,
        active,
      })),
    )
  }

  async close(): Promise<void> {
    await this.#following
    const pools = [...this.#retired]
    for (const { balanced, checks } of this.#upstreams.values()) {
      for (const check of checks) check.stop()
      pools.push(...balanced.targets.map(({ pool }) => pool))
    }
    await Promise.all(pools.map((pool) => pool.close()))
  }

  async #follow(settings: GatewaySettings): Promise<void> {
    const before = this.#upstreams
    const after = new Map<string, LiveUpstream>()
    const added: LiveUpstream[] = []
    for (const [name, wanted] of Object.entries(upstreamsOf(settings))) {
      const tls = tlsOf(name, wanted)
      const { clientShare } = settings
      const settingsJson = JSON.stringify([wanted, tls, clientShare])
      const known = before.get(name)
      const live =
        known?.settingsJson === settingsJson
          ? known
          : this.#open(name, wanted, tls, clientShare, settingsJson)
      if (live !== known) added.push(live)
      after.set(name, live)
    }
    const table = compileRoutes(
      routesOf(settings).map((route) => ({
        host: route.host,
        path: route.path,
        route: routeOf(route, settings, (after.get(route.upstream) as LiveUpstream).balanced),
      })),
    )
    await Promise.all(added.flatMap(({ checks }) => checks.map((check) => check.start())))
    this.#table = table
    this.#upstreams = after
    for (const pool of this.#retired) if (pool.open === 0) this.#retired.delete(pool)
    for (const [name, live] of before) if (after.get(name) !== live) this.#retire(live)
  }

  #open(
    name: string,
    wanted: UpstreamSettings,
    tls: UpstreamTls,
    clientShare: number,
    settingsJson: string,
  ): LiveUpstream {
    const { clock, onHealthChange } = this.#options
    const { balance, health, ejection, connections, waiting, keepAlive } = wanted
    const bounds = { maxConnections: connections, maxWaiting: waiting, clientShare }
    const targets = wanted.targets.map((address) => {
      const { origin } = new URL(address)
      const pool = new Pool(origin, { tls, ...bounds, keepAliveMs: keepAlive })
      return new MonitoredTarget(origin, pool, { failures: ejection.failures, forMs: ejection.for }, clock)
    })
    const checks =
      health === undefined
        ? []
        : targets.map((target) => {
            const ask = (origin: string) =>
              probe(origin, { path: health.path, timeoutMs: health.timeout, tls })
            return new HealthCheck(target, ask, { ...health, intervalMs: health.interval }, onHealthChange)
          })
    return { settingsJson, balanced: new BalancedUpstream(name, targets, balance), checks }
  }

  #retire({ balanced, checks }: LiveUpstream): void {
    for (const check of checks) check.stop()
    for (const { pool } of balanced.targets) this.#retired.add(pool)
  }
}

function tlsOf(name: string, { tls }: UpstreamSettings): UpstreamTls {
  const { ca, serverName } = tls
  return {
    ca: ca === undefined ? undefined : readAuthority(ca, `gateway.upstreams.${name}.tls.ca`),
    serverName,
  }
}

function routeOf(route: NamedRoute, settings: GatewaySettings, upstream: BalancedUpstream): Route {
  const { deadlines, uploads } = settings
  const { name, path, stripPrefix, keepHost, methodOverride } = route
  const prefix = prefixOf(path)
  return {
    name,
    upstream,
    deadlines: {
      connect: route.deadlines.connect ?? deadlines.connect,
      headers: route.deadlines.headers ?? deadlines.headers,
      bodyIdle: route.deadlines.bodyIdle ?? deadlines.bodyIdle,
      total: route.deadlines.total ?? deadlines.total,
    },
    uploads: uploads.rate === 0 ? undefined : { bytesPerSecond: uploads.rate, graceMs: uploads.grace },
    passesMethodOverride: methodOverride,
    keepHost: keepHost ?? upstream.targets.every(({ origin }) => origin.startsWith("http:")),
    stripPrefix: stripPrefix && prefix !== "" ? prefix : undefined,
  }
}
