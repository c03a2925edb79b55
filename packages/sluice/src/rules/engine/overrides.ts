// Overrides: other limits for single clients.

import { getOrAdd } from "../../get-or-add.js"
import { parseCidr } from "../../request/address/cidr.js"
import { formatIp } from "../../request/address/ip-address.js"
import { type Client, ClientMap } from "../identity/client.js"
import { endOf } from "../language/check-rules.js"
import { parseClientName } from "../language/client-name.js"
import type { OverrideSpec } from "../language/schema.js"
import type { Steps } from "../language/steps.js"
import {
  type Applying,
  compileLimits,
  countersOf,
  type Override,
  type RuleSetContext,
} from "./compile-rule.js"

export interface Overrides {
  /** Those that name no rule. */
  readonly forEveryRule: ClientMap<readonly Override[]>
  /** Those that name rules, by the id of each rule. */
  readonly byRule: ReadonlyMap<string, ClientMap<readonly Override[]>>
}

/** Groups the overrides of a set by rule and client. Several overrides for one client keep their order. */
export function* compileOverrides(context: RuleSetContext): Steps<Overrides> {
  const lists = new Map<string | undefined, Map<string, Override[]>>()
  for (const spec of context.document.overrides ?? []) {
    const ids =
      spec.rule === undefined ? [undefined] : typeof spec.rule === "string" ? [spec.rule] : spec.rule
    const override = compileOverride(spec, context)
    const name = canonicalName(spec.client)
    for (const id of ids) {
      const clients = getOrAdd(lists, id, () => new Map<string, Override[]>())
      getOrAdd(clients, name, () => []).push(override)
      yield
    }
  }
  const byRule = new Map<string, ClientMap<readonly Override[]>>()
  for (const [id, clients] of lists) if (id !== undefined) byRule.set(id, yield* clientMap(clients))
  return { forEveryRule: yield* clientMap(lists.get(undefined)), byRule }
}

/** The first override of a client that has not ended, by whichever of its names it is listed. */
export function validOverride(
  overrides: ClientMap<readonly Override[]>,
  client: Client,
  nowMs: number,
): Override | undefined {
  const isValid = (override: Override) => nowMs < override.until
  return overrides.get(client, (list) => list.some(isValid))?.find(isValid)
}

function compileOverride(spec: OverrideSpec, context: RuleSetContext): Override {
  const compiled = new Map<string, Applying>()
  return {
    until: spec.until === undefined ? Number.POSITIVE_INFINITY : (endOf(spec.until) ?? 0),
    limitsFor({ id, mode, leases }) {
      // An override uses the counters of the rule: when it ends, its client keeps what it has used.
      const counters = countersOf(context.prefix, id, mode)
      return getOrAdd(compiled, counters, () => {
        const limits = compileLimits(spec.limits, counters, "overrides.limits", context, leases)
        return { limits, from: "override" }
      })
    },
  }
}

function* clientMap(
  clients: ReadonlyMap<string, readonly Override[]> | undefined,
): Steps<ClientMap<readonly Override[]>> {
  const map = new ClientMap<readonly Override[]>()
  for (const [client, overrides] of clients ?? []) {
    map.add(client, overrides, "overrides")
    yield
  }
  return map
}

/** `ip:10.0.0.1` and `ip:10.0.0.1/32` are one client, whose overrides belong into one list. */
function canonicalName(client: string): string {
  const { kind, value } = parseClientName(client, "overrides")
  if (kind !== "ip") return client
  const { address, prefix } = parseCidr(value, "overrides")
  return `ip:${formatIp(address)}/${prefix}`
}
