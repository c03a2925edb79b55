import type { IncomingMessage, RequestListener, ServerResponse } from "node:http"
import type { Limiter } from "sluice"
import { type Answer, check } from "./check.js"
import { RequestError, toProblem } from "./problem.js"

type Route = (request: IncomingMessage) => Answer | Promise<Answer>
type Routes = Record<string, Record<string, Route>>

export interface AppOptions {
  readonly limiter: Limiter
  /** Told about every failure that is not the caller's mistake. */
  readonly onError: (error: unknown) => void
}

/** Finds the route, runs it, and turns whatever comes of it into a response. */
export function createApp({ limiter, onError }: AppOptions): RequestListener {
  const livez: Route = () => ({ status: 200, body: { status: "ok" } })
  const routes: Routes = {
    "/v1/check": { POST: (request) => check(limiter, request) },
    "/livez": { GET: livez, HEAD: livez },
  }
  return async (request, response) => {
    try {
      const route = findRoute(routes, request)
      send(response, await route(request))
    } catch (error) {
      // A client that went away in the middle of its body is nobody's mistake and hears no answer.
      if (request.destroyed && !request.complete) return
      const problem = toProblem(error)
      if (problem.status === 500) onError(error)
      const headers = error instanceof RequestError ? error.headers : {}
      send(response, {
        status: problem.status,
        headers: { ...headers, "content-type": "application/problem+json" },
        body: problem,
      })
    }
  }
}

function findRoute(routes: Routes, request: IncomingMessage): Route {
  const path = (request.url ?? "/").split("?", 1)[0] ?? "/"
  const methods = Object.hasOwn(routes, path) ? routes[path] : undefined
  if (!methods) throw new RequestError("PATH_UNKNOWN", `the paths are ${Object.keys(routes).join(" and ")}`)
  const method = request.method ?? ""
  const route = Object.hasOwn(methods, method) ? methods[method] : undefined
  if (route) return route
  const allow = Object.keys(methods).join(", ")
  throw new RequestError("METHOD_NOT_ALLOWED", `${path} takes ${allow}, got ${method}`, { allow })
}

function send(response: ServerResponse, { status, headers, body }: Answer): void {
  const text = JSON.stringify(body, infinityAsNever)
  response.writeHead(status, {
    "content-type": "application/json",
    "cache-control": "no-store",
    ...headers,
    "content-length": Buffer.byteLength(text),
  })
  response.end(text)
}

/** JSON has no infinity, and null would read as "unknown". */
function infinityAsNever(_name: string, value: unknown): unknown {
  return value === Number.POSITIVE_INFINITY ? "never" : value
}
