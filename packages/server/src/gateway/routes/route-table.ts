// Which route a request takes: the most specific host that has a route for its path, and of its routes the longest path.

import { comparedHost, parseHostPattern } from "sluice/internal/rules"
import type { Route, RouteTable } from "./route.js"

export interface RouteEntry {
  /** `api.example.com`, `*.example.com`; undefined for every host. */
  readonly host?: string | undefined
  /** This path and everything below it: `/api` is for `/api` and `/api/items`, not for `/apis`. */
  readonly path: string
  readonly route: Route
}

/** Entries must differ in host or path. */
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
  // The longest first: it says the most.
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

/** Routes by the start of a path. */
class Paths {
  /** By the path without a slash at its end, so that of `/` is empty. */
  readonly #routes = new Map<string, Route>()
  /** Segments of the longest: a client cannot make it look further, however many slashes it sends. */
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

/** `/api` of `/api/`, and nothing of `/`. */
export function prefixOf(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path
}
