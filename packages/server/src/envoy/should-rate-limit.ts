// ShouldRateLimit for gRPC and JSON. All descriptors of a request are one check, so that all of them are charged or none.

import type { LimitDecision } from "sluice"
import { headerList } from "sluice/internal"
import type { RuleDecision, RuleOutcome } from "sluice/rules"
import { ask, type Core } from "../core.js"
import { type Descriptor, invalid, type RateLimitRequest, unitOf } from "./rate-limit-request.js"
import { type DescriptorStatus, OK, OVER_LIMIT, type RateLimitResponse } from "./rate-limit-response.js"

export interface ShouldRateLimitOptions {
  /** Makes Envoy add the rule's rate limit headers to its response. Default: false. */
  readonly responseHeaders?: boolean | undefined
}

export type ShouldRateLimit = (request: RateLimitRequest) => RateLimitResponse | Promise<RateLimitResponse>

/** The store is unavailable and the rule denies in that case. An error, so that Envoy's own failure mode decides. */
export class StoreUnavailableError extends Error {
  override readonly name = "StoreUnavailableError"
  readonly decision: RuleDecision

  constructor(decision: RuleDecision) {
    super(`rule "${decision.rule}": the store is unavailable and onStoreFailure is deny`)
    this.decision = decision
  }
}

const MAX_UINT32 = 0xffff_ffff
const NO_HEADERS: readonly string[] = []

export function shouldRateLimit(
  core: Core,
  protocol: "grpc" | "json",
  options: ShouldRateLimitOptions = {},
): ShouldRateLimit {
  const { responseHeaders = false } = options

  function answer(
    { domain, descriptors }: RateLimitRequest,
    decision: RuleDecision,
  ): RateLimitResponse | Promise<RateLimitResponse> {
    const { allowed, degraded } = decision
    if (!allowed && degraded === "deny") throw new StoreUnavailableError(decision)
    const response = {
      overallCode: allowed ? OK : OVER_LIMIT,
      statuses: descriptors.map(
        (descriptor, i) => statusOf(decision, descriptor, i) ?? unlimited(domain, descriptor),
      ),
      headers: responseHeaders ? headersOf(decision) : NO_HEADERS,
    } satisfies RateLimitResponse
    if (allowed || decision.rules.length > 0) return response
    // Denied without a counter (a deny list, for example): peek at each descriptor alone to find those that are denied.
    if (descriptors.length === 1) return { ...response, statuses: [DENIED] }
    return Promise.all(descriptors.map((descriptor) => isAllowed(domain, descriptor))).then((allows) => ({
      ...response,
      statuses: response.statuses.map((status, i) => (allows[i] === true ? status : DENIED)),
    }))
  }

  /** As in envoyproxy/ratelimit: no current limit, and the maximum remaining only for a rule that says `unlimited`. */
  function unlimited(domain: string, descriptor: Descriptor): DescriptorStatus {
    return core.engine.isUnlimited({ domain, descriptors: [descriptor] }) ? UNLIMITED : UNMATCHED
  }

  async function isAllowed(domain: string, descriptor: Descriptor): Promise<boolean> {
    return (await core.engine.peek({ domain, descriptors: [descriptor] })).allowed
  }

  return (request) => {
    const { domain, descriptors, hitsAddend } = request
    if (domain === "") throw invalid("domain", "must not be empty")
    if (descriptors.length === 0) throw invalid("descriptors", "must have at least one entry")
    const options = hitsAddend === 0 ? undefined : { cost: hitsAddend }
    const decision = ask(core, protocol, { domain, descriptors }, options)
    return decision instanceof Promise
      ? decision.then((decided) => answer(request, decided))
      : answer(request, decision)
  }
}

function headersOf(decision: RuleDecision): readonly string[] {
  const { policies, headers } = decision
  return policies.length === 0 ? NO_HEADERS : headerList(headers, policies, decision)
}

const DENIED: DescriptorStatus = { code: OVER_LIMIT, limitRemaining: 0 }
const UNLIMITED: DescriptorStatus = { code: OK, limitRemaining: MAX_UINT32 }
const UNMATCHED: DescriptorStatus = { code: OK, limitRemaining: 0 }

/** The status of one descriptor, with the numbers of the tightest limit that matched it. Undefined if no rule matched. */
function statusOf(
  decision: RuleDecision,
  descriptor: Descriptor,
  index: number,
): DescriptorStatus | undefined {
  let shown: LimitDecision | undefined
  let shownMode: RuleOutcome["mode"] | undefined
  let allowed = true
  let isBlocked = false
  for (const outcome of decision.rules) {
    const { mode, rule, limits } = outcome
    if (outcome.descriptor !== index || outcome.candidate === true) continue
    // A rule in shadow mode is shown only when no enforced rule matched, and never denies.
    if (mode === "shadow" && shownMode === "enforce") continue
    if (mode === "enforce") {
      if (shownMode === "shadow") shown = undefined
      allowed &&= outcome.allowed
      isBlocked ||= decision.reason === "block" && decision.rule === rule
    }
    shownMode = mode
    for (const limit of limits) if (shown === undefined || isTighter(limit, shown)) shown = limit
  }
  if (shown === undefined) return undefined
  const ownLimit = descriptor.limit
  const isNothing = isBlocked || ownLimit?.limit === 0
  return {
    code: allowed && !isBlocked ? OK : OVER_LIMIT,
    currentLimit: {
      requestsPerUnit: Math.min(ownLimit?.limit ?? shown.limit, MAX_UINT32),
      unit: unitOf(shown.windowMs),
      name: shown.name,
    },
    limitRemaining: isNothing ? 0 : Math.min(shown.remaining, MAX_UINT32),
    resetAfterMs: shown.resetAfterMs,
  }
}

function isTighter(a: LimitDecision, b: LimitDecision): boolean {
  if (a.allowed !== b.allowed) return b.allowed
  return a.allowed ? a.remaining < b.remaining : a.retryAfterMs > b.retryAfterMs
}
