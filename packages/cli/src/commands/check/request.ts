// The request that `check` and `explain` decide about, built from their arguments.

import type { ExplainInvocation } from "../../catalog/check.js"
import { UsageError } from "../../command.js"

export interface DescribedRequest {
  readonly method: string
  readonly path?: string
  readonly host?: string
  readonly tier?: string
  readonly cost?: number
  readonly headers?: Readonly<Record<string, readonly string[]>>
  readonly ip?: string
  readonly user?: string
  readonly apiKey?: string
}

const CLIENT_PARTS = ["ip", "user", "apiKey"] as const

type Client = Partial<Record<(typeof CLIENT_PARTS)[number], string>>

interface RequestArguments {
  readonly args: ExplainInvocation["args"]
  readonly options: Pick<
    ExplainInvocation["options"],
    "method" | "path" | "host" | "tier" | "cost" | "header"
  >
}

export function describedRequest({ args, options }: RequestArguments): DescribedRequest {
  const { method, path, host, tier, cost, header } = options
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
    ...(cost === undefined ? {} : { cost }),
  }
}

function clientOf(keys: readonly string[]): Client {
  const client: Client = {}
  for (const key of keys) {
    const colon = key.indexOf(":")
    const part = CLIENT_PARTS.find((name) => name === key.slice(0, colon))
    if (part === undefined || colon === key.length - 1)
      throw new UsageError("key", "must be ip:…, user:… or apiKey:…, unless you name a rule with --rule", {
        found: key,
      })
    if (client[part] !== undefined)
      throw new UsageError("key", `${part} may be given only once`, { found: key })
    client[part] = key.slice(colon + 1)
  }
  return client
}
