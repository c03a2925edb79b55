// A route of the control plane: the role that it needs, what it accepts and what it answers. The API description is made from the
// same table that serves requests.

import type { IncomingMessage, ServerResponse } from "node:http"
import { SluiceError } from "sluice"
import type { z } from "zod"
import type { BodySpec } from "./body.js"
import type { JsonSchema } from "./json.js"
import type { Actor, Role } from "./roles.js"

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/** A request as a route sees it. */
export interface Asked<Query = unknown, Body = unknown> {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The named parts of the path. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  readonly actor: Actor
}

export interface Answer {
  /** Default: 200. */
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly json?: unknown
  /** Sent unchanged, with the content type in `type`. */
  readonly content?: string | Buffer
  readonly type?: string
}

/** The answer of a successful request, for the API description. */
export interface AnswerSpec {
  readonly status?: number
  readonly description: string
  /** Undefined for an answer without a body. */
  readonly schema?: JsonSchema | z.ZodType
  /** Default: application/json. */
  readonly types?: readonly string[]
}

export interface Route<Query = unknown, Body = unknown> {
  readonly method: Method
  /** `/rules/:id` */
  readonly path: string
  /** `anyone` needs no token. */
  readonly role: Role | "anyone"
  /** The heading of the route in the API description. */
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly query?: z.ZodType<Query>
  readonly body?: BodySpec<Body>
  /** A body that the route itself reads as a stream. */
  readonly upload?: { readonly types: readonly string[]; readonly schema: JsonSchema }
  /** Whether the route changes the rules. Its requests must then name the revision that they are based on. */
  readonly edits?: boolean
  readonly answer: AnswerSpec
  /** Answers the request. Undefined if the route has written the response itself. */
  run(asked: Asked<Query, Body>): Answer | undefined | Promise<Answer | undefined>
}

/** Types a route by its own query and body. */
export function route<Query = unknown, Body = unknown>(spec: Route<Query, Body>): Route {
  return spec as unknown as Route
}

/** The path does not allow the method. `allow` lists those that it does. */
export class MethodNotAllowed extends SluiceError {
  readonly allow: string

  constructor(path: string, methods: readonly string[], found: string) {
    super("METHOD_NOT_ALLOWED", { place: path, expected: `takes ${methods.join(", ")}`, found })
    this.allow = methods.join(", ")
  }
}

export interface FoundRoute {
  readonly route: Route
  readonly params: Readonly<Record<string, string>>
}

/** Finds the route of a request. A literal path comes before one with parameters: `/rules/validate` is not a rule. */
export class Router {
  readonly #routes: readonly { readonly route: Route; readonly segments: readonly string[] }[]

  constructor(routes: readonly Route[]) {
    this.#routes = routes
      .map((route) => ({ route, segments: route.path.split("/") }))
      .sort((a, b) => namesIn(a.segments) - namesIn(b.segments))
  }

  find(path: string, method = ""): FoundRoute {
    const segments = path.split("/").map(decoded)
    const here = this.#routes.flatMap(({ route, segments: pattern }) => {
      const params = paramsOf(pattern, segments)
      return params === undefined ? [] : [{ route, params }]
    })
    const wanted = method === "HEAD" ? "GET" : method
    const found = here.find(({ route }) => route.method === wanted)
    if (found !== undefined) return found
    if (here.length === 0) {
      throw new SluiceError("PATH_UNKNOWN", {
        place: "path",
        expected: "must be one of the paths listed at /docs",
        found: path,
      })
    }
    const methods = [...new Set(here.map(({ route }) => route.method))]
    const withHead = methods.flatMap((known) => (known === "GET" ? [known, "HEAD"] : [known]))
    throw new MethodNotAllowed(path.slice(0, 200), withHead, method)
  }
}

function namesIn(segments: readonly string[]): number {
  return segments.filter((segment) => segment.startsWith(":")).length
}

function paramsOf(
  pattern: readonly string[],
  segments: readonly (string | undefined)[],
): Record<string, string> | undefined {
  if (pattern.length !== segments.length) return undefined
  const params: Record<string, string> = {}
  for (const [i, part] of pattern.entries()) {
    const segment = segments[i]
    if (segment === undefined) return undefined
    if (part.startsWith(":") && segment !== "") params[part.slice(1)] = segment
    else if (part !== segment) return undefined
  }
  return params
}

/** Undefined if the percent-encoding is invalid. No route has such a path. */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
