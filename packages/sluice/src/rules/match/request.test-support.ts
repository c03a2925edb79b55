import type { RequestFacts } from "./match-spec.js"

export interface Ask {
  readonly method?: string
  readonly host?: string
  /** With its query, if it has one. */
  readonly target?: string
  /** By lower-case name. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly tier?: string
}

/** A request of which only what matters is said. */
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
