// Routes: which upstream a request goes to, and how it is forwarded. The most specific host that has a route for the path
// wins; among its routes, the longest path wins.

import { comparedHost, parseHostPattern } from "sluice/internal/rules"
import type { Upstream } from "../upstream/upstream.js"

/** How long the parts of an exchange with an upstream may take, in milliseconds; 0 means no limit. */
export interface Deadlines {
  /** Until the connection is established, including TLS. */
  readonly connect: number
  /** From the last byte of the request to the end of the answer's head. */
  readonly headers: number
  /** Between two reads of a body, in either direction. */
  readonly bodyIdle: number
  /** From the request's head to the last byte of the answer. */
  readonly total: number
}

/** How fast a client must send a body. */
export interface UploadRate {
  readonly bytesPerSecond: number
  /** Time before the rate applies. */
  readonly graceMs: number
}

/** Which upstream answers a request, and how the request is forwarded. */
export interface Route {
  readonly name: string
  readonly upstream: Upstream
  readonly deadlines: Deadlines
  /** How fast clients must send bodies. Default: any rate that keeps within `deadlines.bodyIdle`. */
  readonly uploads?: UploadRate | undefined
  /** Whether the upstream receives the client's Host header or its own name. */
  readonly keepHost: boolean
  /** Whether the upstream receives X-HTTP-Method-Override and similar headers. Default: no. */
  readonly passesMethodOverride?: boolean | undefined
  /** Removed from the front of the forwarded path: `/api` turns `/api` into `/` and `/api/x` into `/x`. */
  readonly stripPrefix?: string | undefined
}

export interface RouteTable {
  /** `host` is as the client sent it, `path` is canonical and without the query. */
  find(host: string | undefined, path: string): Route | undefined
}

export interface RouteEntry {
  /** `api.example.com`, `*.example.com`; undefined for every host. */
  readonly host?: string | undefined
  /** Matches this path and everything below it: `/api` matches `/api` and `/api/items`, not `/apis`. */
  readonly path: string
  readonly route: Route
}

/** Builds the table. Entries must differ in host or path. */
export function compileRoutes(entries: readonly RouteEntry[]): RouteTable {
  const exact = new Map<string, Paths>()
  const wildcards = new Map<string, Paths>()
  const anyHost = new Paths()
  for (const { host, path, route } of entries) {
    if (host === undefined) anyHost.add(path, route)
    else {
      const pattern = parseHostPattern(host, `host of route "${route.name}"`)
      pathsOf(pattern.wildcard ? wildcards : exact, pattern.host).add(path, route)
    }
  }
  if (exact.size === 0 && wildcards.size === 0) return { find: (_host, path) => anyHost.find(path) }
  // Longest first: it is the most specific.
  const suffixes = [...wildcards].sort(([a], [b]) => b.length - a.length)
  return {
    find(host, path) {
      const found = host === undefined ? "" : comparedHost(host)
      const route = exact.get(found)?.find(path)
      if (route !== undefined) return route
      for (const [suffix, paths] of suffixes) {
        if (found.length <= suffix.length || !found.endsWith(suffix)) continue
        const below = paths.find(path)
        if (below !== undefined) return below
      }
      return anyHost.find(path)
    },
  }
}

function pathsOf(hosts: Map<string, Paths>, host: string): Paths {
  let paths = hosts.get(host)
  if (paths === undefined) {
    paths = new Paths()
    hosts.set(host, paths)
  }
  return paths
}

/** Finds routes by path prefix. */
class Paths {
  /** Keys have no trailing slash, so the key of `/` is empty. */
  readonly #routes = new Map<string, Route>()
  /** Segments of the longest key. It bounds the search, however many slashes a client sends. */
  #depth = 0

  add(path: string, route: Route): void {
    const prefix = prefixOf(path)
    this.#routes.set(prefix, route)
    this.#depth = Math.max(this.#depth, prefix.split("/").length - 1)
  }

  find(path: string): Route | undefined {
    let found = this.#routes.get("")
    let end = 0
    for (let depth = 0; depth < this.#depth && end < path.length; depth++) {
      const slash = path.indexOf("/", end + 1)
      end = slash < 0 ? path.length : slash
      found = this.#routes.get(path.slice(0, end)) ?? found
    }
    return found
  }
}

/** The path without its trailing slash: `/api` for `/api/`, empty for `/`. */
export function prefixOf(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path
}
