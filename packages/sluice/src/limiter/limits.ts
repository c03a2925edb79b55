// The limits of a limiter, and the charges that a call makes under them.

import type { Policy } from "../algorithms/algorithm.js"
import { blockPolicy } from "../algorithms/block.js"
import { isConcurrency } from "../algorithms/concurrency.js"
import type { CheckOptions } from "../call-options.js"
import { checkKey, costOf } from "../call-options.js"
import type { NamedPolicy } from "../decision.js"
import { SluiceError } from "../errors.js"
import { getOrCache } from "../get-or-add.js"
import { checkFields } from "../options.js"
import { overridePolicy } from "../policy.js"
import type { HoldId } from "../stores/hold-id.js"
import type { Charge } from "../stores/store.js"
import { Namespace, penaltyCharge, penaltyNamespace } from "../stores/store.js"
import type { CompiledLimit } from "./limiter-options.js"

export interface Limit extends NamedPolicy {
  /** Where its counters are kept. */
  readonly namespace: Namespace
  /** The blocks of keys that it has denied too often. */
  readonly penalty: { readonly namespace: Namespace; readonly policy: Policy } | undefined
  /** The policies of calls that override `limit` or `burst`. */
  readonly overrides: Map<unknown, Policy>
}

const CHECK_FIELDS = ["cost", "at", "limit", "burst"]
/** How many policies of overriding calls a limit keeps. */
const MAX_OVERRIDES = 1_024

export function limitOf({ name, policy, penalty, ...limit }: CompiledLimit, prefix: string): Limit {
  const namespace = new Namespace(limit.namespace, prefix)
  const blocks = penalty && { namespace: penaltyNamespace(namespace), policy: penalty }
  return { name, policy, namespace, penalty: blocks, overrides: new Map() }
}

/** Checks the arguments of a check of a single limit, and returns its policy. */
export function policyOfCall(limit: Limit, key: string, options: CheckOptions | undefined): Policy {
  checkKey(key)
  if (options === undefined) return limit.policy
  checkFields(options, CHECK_FIELDS, "check")
  return policyFor(limit, options)
}

/** The policy of a limit, with what the call overrides. */
export function policyFor(limit: Limit, options: CheckOptions | undefined): Policy {
  if (!hasOverride(options)) return limit.policy
  const name = options.burst === undefined ? options.limit : JSON.stringify([options.limit, options.burst])
  return getOrCache(limit.overrides, name, MAX_OVERRIDES, () =>
    overridePolicy(limit.policy, options.limit, options.burst),
  )
}

function hasOverride(options: CheckOptions | undefined): options is CheckOptions {
  return options !== undefined && (options.limit !== undefined || options.burst !== undefined)
}

/** Checks the arguments of a call, and returns one charge per limit. `hold` is the id for limits of concurrency. */
export function limitCharges(
  limits: readonly Limit[],
  key: string,
  options: CheckOptions | undefined,
  hold?: HoldId,
): Charge[] {
  checkKey(key)
  if (options !== undefined) checkFields(options, CHECK_FIELDS, "check")
  const cost = costOf(options?.cost)
  if (limits.length > 1 && hasOverride(options)) {
    throw new SluiceError("OPTION_CONFLICT", {
      place: "check",
      expected: "takes limit and burst only with one limit",
    })
  }
  const charges: Charge[] = []
  for (const limit of limits) {
    const policy = policyFor(limit, options)
    charges.push({
      namespace: limit.namespace,
      key,
      policy,
      cost,
      hold: isConcurrency(policy) ? hold : undefined,
    })
  }
  return charges
}

/** The blocks of limits with a penalty. `charges` begins with those of the limits. */
export function penaltyCharges(limits: readonly Limit[], charges: readonly Charge[]): Charge[] {
  return limits.flatMap(({ penalty }, i) =>
    penalty === undefined ? [] : [penaltyCharge(charges[i] as Charge, penalty.namespace, penalty.policy)],
  )
}

/** The block of a key by hand. A cost of 0 only reads it. */
export function blockCharge(blocks: Namespace, key: string): Charge {
  checkKey(key)
  return { namespace: blocks, key, policy: blockPolicy, cost: 0 }
}
