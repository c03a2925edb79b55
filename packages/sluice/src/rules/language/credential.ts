// The places in a request that carry credentials. Their values are counted by keyed hash and never shown.

import { queryForm } from "../../request/credential-form.js"

/** Headers that always carry a credential. */
const HEADERS: ReadonlySet<string> = new Set(["authorization", "proxy-authorization", "x-api-key", "cookie"])

/** Where the rule set reads the API key. */
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

/** The query string with the API key masked. */
export function shownQuery(query: string, { apiKeyQuery }: ApiKeyPlace): string {
  if (apiKeyQuery === undefined) return query
  return query
    .split("&")
    .map((pair) => (queryForm(pair, apiKeyQuery) === undefined ? pair : pair.replace(/=.*/s, "=***")))
    .join("&")
}
