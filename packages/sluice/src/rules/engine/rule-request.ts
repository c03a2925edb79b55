// A request as callers describe it to the engine.

import { SluiceError } from "../../errors.js"
import type { HeaderSource } from "../../request/header-source.js"
import type { Descriptor } from "./descriptor.js"

/** A request as the engine sees it. What is not given is unknown, not empty. */
export interface RuleRequest {
  readonly method?: string | undefined
  /** As in the Host header. Default: that header. */
  readonly host?: string | undefined
  /** The request target, with its query: `/v1/items?page=2`. */
  readonly path?: string | undefined
  /**
   * `.` and `..` in the path: `resolve` them (default), right where the canonical path is what gets forwarded, or `refuse` them
   * where the application sees the path as it came and may take it for another.
   */
  readonly dotSegments?: "resolve" | "refuse" | undefined
  readonly headers?: HeaderSource | undefined
  /**
   * The header lines as they came: name, value, name, value, as `rawHeaders` of `node:http` has them. They show a header
   * that came more than once; `headers` shows only that its value has a comma in it, and of some not even that.
   */
  readonly rawHeaders?: readonly string[] | undefined
  /** The address of the peer. What proxies say of others is believed only from trusted ones. */
  readonly ip?: string | undefined
  /** The user, if the application has verified who it is. */
  readonly user?: string | undefined
  /** The API key in clear; it is hashed at once. Default: from the header or query parameter the rule set names. */
  readonly apiKey?: string | undefined
  readonly tier?: string | undefined
  /** Another name of the client: it stands in for whichever of address, user and API key is not known. */
  readonly client?: string | undefined
  /** An Envoy rate limit request: its domain, and descriptors that are each matched by themselves. */
  readonly domain?: string | undefined
  readonly descriptors?: readonly Descriptor[] | undefined
  /** The application's own name for what was asked, `/items/:id`. Default: the path pattern of the rule. */
  readonly route?: string | undefined
}

/** A field that must be a text if it is there. Null means that it is not there. */
export function textField(value: unknown, field: string): string | undefined {
  if (value === undefined || typeof value === "string") return value
  if (value === null) return undefined
  throw wrongType(`request.${field}`, "a text", value)
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

export function wrongType(place: string, expected: string, found: unknown): SluiceError {
  return new SluiceError("OPTION_TYPE", { place, expected: `must be ${expected}`, found })
}
