// What the headers of one response show: the decision of one middleware, or of several that the request met.

import {
  type HeaderDecision,
  type HeaderLimit,
  type HeaderPolicy,
  type HeaderStyle,
  headerWriter,
} from "./headers.js"
import { keptByLimits } from "./memoize-by-policy.js"
import { isPlain, PlainHeaders } from "./plain-headers.js"

export interface Shown {
  readonly decision: HeaderDecision
  /** One per limit. The same list each time, because header texts are kept by it. */
  readonly policies: readonly HeaderPolicy[]
}

/** Where what was shown so far is kept. */
const SHOWN = Symbol.for("sluice.shown")

/** What earlier gates have shown on the response to a request. `notes` is the request, or what it has for notes. */
export function shownOn(notes: object): Shown | undefined {
  return (notes as { [SHOWN]?: Shown })[SHOWN]
}

export function noteShown(notes: object, shown: Shown): void {
  ;(notes as { [SHOWN]?: Shown })[SHOWN] = shown
}

type Policies = readonly HeaderPolicy[]
type Write = (decision: HeaderDecision) => string[]

/** Puts the headers of decisions about these limits into flat lists: name, value, name, value. */
export const headerList = keptByLimits(newHeaderList)

function newHeaderList(style: HeaderStyle, policies: Policies): Write {
  const writer = headerWriter({ style, policies })
  const plain = policies.length === 0 ? undefined : new PlainHeaders(style, policies)
  let list: string[] = []
  const push = (name: string, value: string): void => {
    list.push(name, value)
  }
  return (decision) => {
    if (plain !== undefined && isPlain(decision)) return plain.list(decision)
    list = []
    writer.write(decision, push)
    return list
  }
}

const joined = new WeakMap<Policies, WeakMap<Policies, Policies>>()

/** What two middlewares of one response show: each limit its own member, and the tightest where there is room for one. */
export function showTogether(earlier: Shown, later: Shown): Shown {
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
    policies: joinPolicies(earlier.policies, later.policies),
  }
}

function limitsOf({ decision, policies }: Shown): readonly (HeaderLimit & { readonly name: string })[] {
  if (decision.limits !== undefined && decision.limits.length > 0) return decision.limits
  return [{ ...decision, name: policies[0]?.name ?? "default" }]
}

function joinPolicies(a: Policies, b: Policies): Policies {
  let known = joined.get(a)
  if (known === undefined) {
    known = new WeakMap()
    joined.set(a, known)
  }
  let both = known.get(b)
  if (both === undefined) {
    both = [...a, ...b]
    known.set(b, both)
  }
  return both
}
