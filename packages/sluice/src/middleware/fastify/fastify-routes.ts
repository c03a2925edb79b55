import type { RouteOptions } from "fastify"

/** What `printRoutes` says as long as there are none. */
const NONE = "(empty tree)"

/**
 * Tells whether a route of an application may have a limit of its own. To ask each request takes as long as to decide
 * about it, because fastify puts `routeOptions` together anew each time; most applications have no such route.
 */
export class FastifyRoutes {
  /** True until all routes are known. */
  mayDiffer = true
  /** Routes declared before the plugin was loaded are not shown to it. */
  readonly #hasUnseen: boolean
  #seen: RouteOptions[] = []

  /** `printed`: all routes so far, by `printRoutes`. */
  constructor(printed: string) {
    this.#hasUnseen = printed !== NONE
  }

  see(route: RouteOptions): void {
    this.#seen.push(route)
  }

  /** When the application is ready: until then other plugins may still change what they have seen. */
  complete(): void {
    this.mayDiffer = this.#hasUnseen || this.#seen.some(({ config }) => config?.rateLimit !== undefined)
    this.#seen = []
  }
}
