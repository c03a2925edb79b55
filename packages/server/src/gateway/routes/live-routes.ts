// Routes and upstreams as they are configured now. A reload puts new ones in force and lets go of the old: requests that have
// found their way already go on as they were, and an upstream that has not changed keeps its connections and its health.

import type { Clock } from "sluice"
import { type NamedRoute, routesOf, upstreamsOf } from "../../config/gateway-routes.js"
import type { GatewaySettings, UpstreamSettings } from "../../config/gateway-schema.js"
import { readAuthority } from "../listen/certificates.js"
import { BalancedUpstream } from "../upstream/balanced-upstream.js"
import { HealthCheck, type OnHealthChange } from "../upstream/health-check.js"
import { openPool, type Pool } from "../upstream/pool.js"
import { probe } from "../upstream/probe.js"
import { FitTarget } from "../upstream/target-health.js"
import type { UpstreamTls } from "../upstream/upstream-tls.js"
import type { Route, RouteTable } from "./route.js"
import { compileRoutes, prefixOf } from "./route-table.js"

export interface LiveRoutesOptions {
  readonly onHealthChange?: OnHealthChange
  readonly clock?: Clock
}

/** How a target is, for those who watch. */
export interface TargetState {
  readonly upstream: string
  readonly target: string
  /** Whether it gets requests: it passes its health check and is not ejected. */
  readonly isUp: boolean
  /** Requests that it is answering. */
  readonly active: number
}

interface LiveUpstream {
  /** Everything that it was made from. */
  readonly made: string
  readonly balanced: BalancedUpstream
  readonly checks: readonly HealthCheck[]
}

export class LiveRoutes implements RouteTable {
  readonly #options: LiveRoutesOptions
  #table: RouteTable = { find: () => undefined }
  #upstreams = new Map<string, LiveUpstream>()
  /** Of upstreams that are gone. Somebody may still be on the way to them, so they close by being idle. */
  readonly #retired = new Set<Pool>()
  #following: Promise<void> = Promise.resolve()

  constructor(options: LiveRoutesOptions = {}) {
    this.#options = options
  }

  find(host: string | undefined, path: string): Route | undefined {
    return this.#table.find(host, path)
  }

  /** Puts these in force once new targets have been asked how they are. Rejects, and changes nothing, when it cannot. */
  follow(settings: GatewaySettings): Promise<void> {
    // One after the other: what was asked for last is in force at the end.
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
      const made = JSON.stringify([wanted, tls, clientShare])
      const known = before.get(name)
      const live = known?.made === made ? known : this.#open(name, wanted, tls, clientShare, made)
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
    made: string,
  ): LiveUpstream {
    const { clock, onHealthChange } = this.#options
    const { balance, health, ejection, connections, waiting, keepAlive } = wanted
    const bounds = { maxConnections: connections, maxWaiting: waiting, clientShare }
    const targets = wanted.targets.map((address) => {
      const { origin } = new URL(address)
      const pool = openPool(origin, { tls, ...bounds, keepAliveMs: keepAlive })
      return new FitTarget(origin, pool, { failures: ejection.failures, forMs: ejection.for }, clock)
    })
    const checks =
      health === undefined
        ? []
        : targets.map((target) => {
            const ask = (origin: string) =>
              probe(origin, { path: health.path, timeoutMs: health.timeout, tls })
            return new HealthCheck(target, ask, { ...health, intervalMs: health.interval }, onHealthChange)
          })
    return { made, balanced: new BalancedUpstream(name, targets, balance), checks }
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
