// The request that `check` and `explain` ask about, from their arguments.

import type { ExplainInvocation } from "./catalog/check.js"
import { UsageError } from "./usage-error.js"

export interface AskedRequest {
  readonly method: string
  readonly path?: string
  readonly host?: string
  readonly tier?: string
  readonly headers?: Readonly<Record<string, readonly string[]>>
  readonly ip?: string
  readonly user?: string
  readonly apiKey?: string
}

const PARTS = ["ip", "user", "apiKey"] as const

interface Asked {
  readonly args: ExplainInvocation["args"]
  readonly options: Pick<ExplainInvocation["options"], "method" | "path" | "host" | "tier" | "header">
}

export function askedRequest({ args, options }: Asked): AskedRequest {
  const { method, path, host, tier, header } = options
  const headers: Record<string, string[]> = {}
  for (const text of header) {
    const [, name, value] = /^([^:\s]+):\s*(.*)$/.exec(text) ?? []
    if (name === undefined || value === undefined)
      throw new UsageError("--header", "must look like 'x-plan: pro'", { found: text })
    headers[name.toLowerCase()] = [...(headers[name.toLowerCase()] ?? []), value]
  }
  return {
    method: method?.toUpperCase() ?? "GET",
    ...(path === undefined ? {} : { path }),
    ...(host === undefined ? {} : { host }),
    ...(tier === undefined ? {} : { tier }),
    ...(header.length === 0 ? {} : { headers }),
    ...clientOf(args.key),
  }
}

function clientOf(keys: readonly string[]): Partial<Record<(typeof PARTS)[number], string>> {
  const client: Partial<Record<(typeof PARTS)[number], string>> = {}
  for (const key of keys) {
    const colon = key.indexOf(":")
    const part = PARTS.find((name) => name === key.slice(0, colon))
    if (part === undefined || colon === key.length - 1)
      throw new UsageError("key", "must be ip:…, user:… or apiKey:…, unless --rule says whose key it is", {
        found: key,
      })
    if (client[part] !== undefined) throw new UsageError("key", `is there twice: ${part}`, { found: key })
    client[part] = key.slice(colon + 1)
  }
  return client
}
