// Several middlewares may limit one request. The headers of its response show the limits of all of them.

import { getOrAdd } from "../../get-or-add.js"
import type { HeaderPolicy } from "../../header-style.js"
import type { HeaderDecision, HeaderLimit } from "./headers.js"

type Policies = readonly HeaderPolicy[]

/** What the headers of a response show: a decision and the limits it is about. */
export interface ShownLimits {
  readonly decision: HeaderDecision
  /** One per limit. The same array for the same limits: header texts are cached by it. */
  readonly policies: Policies
}

/** Registered globally, so that two copies of the library in one process see each other's limits. */
const SHOWN = Symbol.for("sluice.shown")

interface WithShownLimits {
  [SHOWN]?: ShownLimits
}

/**
 * Adds the limits of one middleware to those that earlier middlewares showed for the same request, remembers the result for
 * later ones, and returns it.
 */
export function mergeShownLimits(request: object, own: ShownLimits): ShownLimits {
  const earlier = (request as WithShownLimits)[SHOWN]
  const merged = earlier === undefined ? own : mergeLimits(earlier, own)
  ;(request as WithShownLimits)[SHOWN] = merged
  return merged
}

/** Merges two decisions: each limit keeps its own member, and headers with room for one limit show the tightest. */
export function mergeLimits(earlier: ShownLimits, later: ShownLimits): ShownLimits {
  const a = earlier.decision
  const b = later.decision
  const tightest = a.remaining < b.remaining ? a : b
  return {
    decision: {
      allowed: a.allowed && b.allowed,
      limit: tightest.limit,
      remaining: tightest.remaining,
      retryAfterMs: Math.max(a.retryAfterMs, b.retryAfterMs),
      resetAfterMs: Math.max(a.resetAfterMs, b.resetAfterMs),
      resetAt: Math.max(a.resetAt, b.resetAt),
      limits: [...limitsOf(earlier), ...limitsOf(later)],
    },
    policies: mergePolicies(earlier.policies, later.policies),
  }
}

function limitsOf({ decision, policies }: ShownLimits): readonly (HeaderLimit & { readonly name: string })[] {
  if (decision.limits !== undefined && decision.limits.length > 0) return decision.limits
  return [{ ...decision, name: policies[0]?.name ?? "default" }]
}

const mergedPolicies = new WeakMap<Policies, WeakMap<Policies, Policies>>()

/** Returns the same array each time for the same two. */
function mergePolicies(a: Policies, b: Policies): Policies {
  const withA = getOrAdd(mergedPolicies, a, () => new WeakMap())
  return getOrAdd(withA, b, () => [...a, ...b])
}
