import type { RequestFacts } from "./match-spec.js"

export interface Ask {
  readonly method?: string
  readonly host?: string
  /** The path, with the query if there is one. */
  readonly target?: string
  /** By lower-case name. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly tier?: string
}

/** A request with defaults for everything that a test does not name. */
export function request(ask: Ask | string): RequestFacts {
  const {
    method = "GET",
    host = "api.example.com",
    target = "/",
    headers = {},
    tier,
  } = typeof ask === "string" ? { target: ask } : (ask as Ask)
  const [path = "", query = ""] = target.split("?")
  return { method, host, path, query, tier, header: (name) => headers[name] }
}
