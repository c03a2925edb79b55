// Where a request may carry a credential. What is there is counted by its keyed hash, and shown to nobody.

import { queryForm } from "../../request/credential-form.js"

/** Headers that carry one whatever the rule set says. */
const HEADERS: ReadonlySet<string> = new Set(["authorization", "proxy-authorization", "x-api-key", "cookie"])

/** Where the rule set says the API key is. */
export interface ApiKeyPlace {
  /** In lower case. */
  readonly apiKeyHeader: string | undefined
  readonly apiKeyQuery: string | undefined
}

/** Whether this header or query parameter carries a credential. Names of headers are in lower case. */
export function isCredential(
  { apiKeyHeader, apiKeyQuery }: ApiKeyPlace,
  part: string,
  name: string | undefined,
): boolean {
  if (name === undefined) return false
  if (part === "header") return HEADERS.has(name) || name === apiKeyHeader
  return part === "query" && name.toLowerCase() === apiKeyQuery?.toLowerCase()
}

/** The query string as it may be shown. */
export function shownQuery(query: string, { apiKeyQuery }: ApiKeyPlace): string {
  if (apiKeyQuery === undefined) return query
  return query
    .split("&")
    .map((pair) => (queryForm(pair, apiKeyQuery) === undefined ? pair : pair.replace(/=.*/s, "=***")))
    .join("&")
}
