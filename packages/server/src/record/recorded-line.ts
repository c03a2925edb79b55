// Writes a decision as a line of the decision log: what a replay needs to decide again, and no secrets. Paths are written without
// their query, API keys as keyed hashes, and only those headers that identify the client or that the configuration names.

import type { HeaderSource, RuleEngine, RuleRequest, RuleSetDocument } from "sluice/rules"
import type { Decided } from "../core.js"
import type { RecordedDecision } from "../replay/log/record.js"

/** Longer paths and names are cut. */
const MAX_LENGTH = 2_048

export interface LineOptions {
  readonly engine: Pick<RuleEngine, "hashApiKey" | "rules">
  /** Further headers to record, in lower case. */
  readonly headers: readonly string[]
}

/** The line of a decision. Undefined for a decision on a named key, which has no request to replay. */
export function recordedLine(
  { decision, request, cost }: Decided,
  at: number,
  { engine, headers }: LineOptions,
): string | undefined {
  // A peek, or a decision on a named key.
  if (request === undefined || cost === 0) return undefined
  const { identity } = engine.rules
  const apiKey = apiKeyOf(request, identity)
  const recorded: RecordedDecision = {
    t: Math.round(at * 1000) / 1000,
    m: short(request.method),
    h: short(request.host ?? headerOf(request.headers, "host")),
    p: short(withoutQuery(request.path)),
    i: short(request.ip),
    u: short(request.user),
    c: short(request.client),
    k: apiKey === undefined ? undefined : engine.hashApiKey(apiKey),
    r: short(request.tier),
    w: cost === 1 ? undefined : cost,
    x: headersOf(request.headers, [...forwardedHeaders(identity), ...headers]),
    d: request.descriptors === undefined ? undefined : [request.domain ?? "", request.descriptors],
    n: decision.allowed ? undefined : (decision.rule ?? decision.reason),
  }
  return JSON.stringify(recorded)
}

type IdentityRules = RuleSetDocument["identity"]

/** Reads the API key as the engine does. */
function apiKeyOf(request: RuleRequest, identity: IdentityRules): string | undefined {
  const { header, query } = identity?.apiKey ?? { header: "x-api-key", query: undefined }
  const sent = header === undefined ? undefined : headerOf(request.headers, header.toLowerCase())
  const found =
    request.apiKey ?? sent?.replace(/^(?:bearer|apikey|token) +/i, "") ?? queryOf(request.path, query)
  return found === "" ? undefined : found
}

function queryOf(path: string | undefined, name: string | undefined): string | undefined {
  const start = path?.indexOf("?") ?? -1
  if (name === undefined || path === undefined || start < 0) return undefined
  return new URLSearchParams(path.slice(start)).get(name) ?? undefined
}

/** The forwarding headers of trusted proxies. Without them a replay would take the proxy for the client. */
function forwardedHeaders(identity: IdentityRules): string[] {
  if ((identity?.trustedProxies?.length ?? 0) === 0) return []
  const named = [identity?.user?.header, identity?.tier?.header].filter((name) => name !== undefined)
  return ["x-forwarded-for", "forwarded", ...named.map((name) => name.toLowerCase())]
}

function headersOf(
  headers: HeaderSource | undefined,
  names: readonly string[],
): Record<string, string> | undefined {
  const found = names.flatMap((name) => {
    const value = short(headerOf(headers, name))
    return value === undefined ? [] : [[name, value] as const]
  })
  return found.length === 0 ? undefined : Object.fromEntries(found)
}

function headerOf(headers: HeaderSource | undefined, name: string): string | undefined {
  if (headers === undefined) return undefined
  if (typeof headers.get === "function") return headers.get(name) ?? undefined
  const value = (headers as Readonly<Record<string, string | readonly string[] | undefined>>)[name]
  return typeof value === "string" ? value : Array.isArray(value) ? value.join(", ") : undefined
}

function withoutQuery(path: string | undefined): string | undefined {
  return path?.replace(/[?#].*/s, "")
}

function short(text: string | null | undefined): string | undefined {
  return text === undefined || text === null ? undefined : text.slice(0, MAX_LENGTH)
}
