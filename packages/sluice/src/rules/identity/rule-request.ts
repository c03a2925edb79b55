import { wrongType } from "../../options.js"
import type { HeaderSource } from "../../request/header-source.js"
import type { Descriptor } from "./descriptor.js"

/** A request as callers describe it to the engine. A field that is missing is unknown, not empty. */
export interface RuleRequest {
  readonly method?: string | undefined
  /** As in the Host header. Default: that header. */
  readonly host?: string | undefined
  /** The request target, with its query: `/v1/items?page=2`. */
  readonly path?: string | undefined
  /**
   * What to do with `.` and `..` in the path. `resolve` (default) is right if the canonical path is forwarded. `refuse` denies
   * the request, and is right if the application sees the original path and may read it differently.
   */
  readonly dotSegments?: "resolve" | "refuse" | undefined
  readonly headers?: HeaderSource | undefined
  /**
   * The header lines in order: name, value, name, value, as in `rawHeaders` of `node:http`. They show whether a header occurs
   * more than once; in `headers` such values are joined by commas or left out.
   */
  readonly rawHeaders?: readonly string[] | undefined
  /** The address of the peer. Forwarded addresses are read from the headers if the peer is a trusted proxy. */
  readonly ip?: string | undefined
  /** The user, if the application has verified it. */
  readonly user?: string | undefined
  /** The API key in clear text; it is hashed at once. Default: the header or query parameter that the rule set names. */
  readonly apiKey?: string | undefined
  readonly tier?: string | undefined
  /** The name of the client, such as `user:42`. It replaces the address, user or API key in a key if that is not known. */
  readonly client?: string | undefined
  /** The domain of an Envoy rate limit request. Each of its descriptors is matched by itself. */
  readonly domain?: string | undefined
  readonly descriptors?: readonly Descriptor[] | undefined
  /** The application's name of the route, such as `/items/:id`. Default: the path pattern of the rule. */
  readonly route?: string | undefined
  /** The body, for rules that charge by it: the bytes or the text of JSON, or its value. See `RuleEngine.readsBody`. */
  readonly body?: unknown
}

/** A field that must be a string if it is present. Null means absent. */
export function textField(value: unknown, field: string): string | undefined {
  if (value === undefined || typeof value === "string") return value
  if (value === null) return undefined
  throw wrongType(`request.${field}`, "a string", value)
}

export function checkDescriptors(descriptors: unknown): void {
  if (descriptors === undefined) return
  if (!Array.isArray(descriptors)) throw wrongType("request.descriptors", "a list", descriptors)
  descriptors.forEach((descriptor, i) => {
    const entries: unknown = descriptor?.entries
    const isEntry = (entry: unknown) => hasText(entry, "key") && hasText(entry, "value")
    if (!Array.isArray(entries) || !entries.every(isEntry))
      throw wrongType(`request.descriptors[${i}].entries`, "a list of keys and values", entries)
  })
}

function hasText(entry: unknown, field: "key" | "value"): boolean {
  return typeof (entry as Record<string, unknown> | null)?.[field] === "string"
}
