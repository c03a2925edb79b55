import { blockPolicy } from "../../algorithms/block.js"
import { checkKey, costOf, microsOf } from "../../call-options.js"
import type { Clock } from "../../clock.js"
import { systemClock } from "../../clock.js"
import type { Duration } from "../../duration.js"
import { parseDuration } from "../../duration.js"
import { SluiceError } from "../../errors.js"
import { notify } from "../../notify.js"
import { checkType } from "../../options.js"
import { giveBack } from "../../refund.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import type { Charge, Outcome, Store, SyncStore } from "../../stores/store.js"
import { DEFAULT_PREFIX, isSyncStore } from "../../stores/store.js"
import { checkRuleSet, parseRuleSet } from "../language/parse.js"
import type { RuleSetDocument } from "../language/schema.js"
import { finish, type Steps } from "../language/steps.js"
import { ApiKeyHasher } from "./api-key.js"
import {
  CHARGED,
  type Charging,
  decisionOfPlan,
  decisionOfSingle,
  earlyDecision,
  UNSETTLED,
  withShadows,
} from "./build-decision.js"
import { chargesOfStep, chargesOfSteps, commonWay } from "./charges.js"
import { clientOf, identified } from "./client.js"
import type { DecisionSlot } from "./decision-slot.js"
import {
  checkEngineOptions,
  isSource,
  type KeyCheckOptions,
  type RateLimitResult,
  type RuleCheckOptions,
  type RuleContext,
  type RuleEngineOptions,
} from "./engine-options.js"
import { type Explanation, explain } from "./explain.js"
import { Identity, type RuleRequest } from "./identity.js"
import {
  HeaderPolicies,
  isStep,
  meetsUnlimited,
  type Plan,
  planOf,
  type Step,
  setTier,
  wholePlan,
} from "./plan.js"
import { settle } from "./response-charge.js"
import type { AnsweredRequest } from "./response-cost.js"
import type { RuleDecision } from "./rule-decision.js"
import { type CompiledRule, RuleSet } from "./rule-set.js"
import { SetFollower } from "./set-follower.js"

/** A rule engine. Most programs make one and ask it about every request. */
export function createRuleEngine(options: RuleEngineOptions): RuleEngine {
  return new RuleEngine(options)
}

export class RuleEngine {
  readonly #store: Store
  readonly #sync: SyncStore | undefined
  readonly #ownsStore: boolean
  readonly #clock: Clock | undefined
  readonly #prefix: string
  readonly #hasher: ApiKeyHasher
  readonly #hasSecret: boolean
  readonly #tierOf: RuleEngineOptions["tierOf"]
  readonly #onDecision: RuleEngineOptions["onDecision"]
  readonly #policies = new HeaderPolicies()
  readonly #follower: SetFollower
  readonly #unsubscribe: () => void
  #set: RuleSet

  constructor(options: RuleEngineOptions) {
    checkEngineOptions(options)
    const { rules, store, clock } = options
    this.#ownsStore = store === undefined
    this.#store = store ?? memoryStore(clock === undefined ? {} : { clock })
    this.#sync = isSyncStore(this.#store) ? this.#store : undefined
    this.#clock = clock
    this.#prefix = options.prefix ?? DEFAULT_PREFIX
    this.#hasher = new ApiKeyHasher(options.secret)
    this.#hasSecret = options.secret !== undefined
    this.#tierOf = options.tierOf
    this.#onDecision = options.onDecision
    this.#follower = new SetFollower({
      compile: ({ document, revision }) => this.#compile(document, revision),
      use: (set) => {
        this.#set = set
      },
      onRefused: options.onRefused ?? warn,
    })
    if (isSource(rules)) {
      this.#set = finish(this.#compile(rules.current.document, rules.current.revision))
      this.#unsubscribe = rules.subscribe((next) => this.#follower.follow(next))
    } else {
      const parsing = options.guardRails === undefined ? {} : { guardRails: options.guardRails }
      const document = typeof rules === "string" ? parseRuleSet(rules, parsing) : checkRuleSet(rules, parsing)
      this.#set = finish(this.#compile(document, 1))
      this.#unsubscribe = () => {}
    }
  }

  /** The revision that decides now. */
  get revision(): number {
    return this.#set.revision
  }

  /** The rule set that decides now. */
  get rules(): RuleSetDocument {
    return this.#set.document
  }

  /**
   * Resolves once every revision that its source has accepted so far decides, or was refused. A rule set that takes longer
   * than about 10 ms to compile is compiled in slices, so that decisions go on meanwhile, by the set before it.
   */
  settled(): Promise<void> {
    return this.#follower.settled()
  }

  /** Whether `checkSync` works: the store is in memory, and no tier has to be waited for. */
  get isSync(): boolean {
    return this.#sync !== undefined && this.#tierOf === undefined
  }

  /** The keyed hash of an API key, as rule sets name it. */
  hashApiKey(apiKey: string): string {
    return this.#hasher.hash(apiKey)
  }

  /** Decides whether a request may pass, and charges every rule it meets if so. */
  async check(request: RuleRequest, options?: RuleCheckOptions): Promise<RuleDecision> {
    if (this.isSync) return this.checkSync(request, options)
    const set = this.#set
    const identity = new Identity(request, set.identity, this.#hasher)
    const tier = this.#tierOf === undefined ? undefined : await this.#tierOf(request)
    const plan = this.#plan(set, identity, tier, options)
    return this.#told(await this.#decide(set, plan, options, identity.tier), request)
  }

  /**
   * `check` without a promise, on a store in memory. Who looks at a decision and keeps nothing of it may hand over a slot for it:
   * see DecisionSlot.
   */
  checkSync(request: RuleRequest, options?: RuleCheckOptions, slot?: DecisionSlot): RuleDecision {
    if (this.#sync === undefined || this.#tierOf !== undefined) {
      throw new SluiceError("STORE_NOT_SYNC", {
        place: "checkSync",
        expected: "needs the memory store and no tierOf; use check",
      })
    }
    const set = this.#set
    const identity = new Identity(request, set.identity, this.#hasher)
    const plan = this.#plan(set, identity, undefined, options)
    return this.#told(this.#decideSync(this.#sync, set, plan, options, identity.tier, slot), request)
  }

  /**
   * Decides a list of requests in one go. Each is all-or-nothing by itself, and sees those before it that have a key in common
   * with it. Requests without a common key may be decided in another order where counters are on several servers or slots.
   */
  async checkMany(requests: readonly (RuleRequest & RuleCheckOptions)[]): Promise<RuleDecision[]> {
    if (this.isSync) return requests.map((request) => this.checkSync(request, request))
    const set = this.#set
    const plans = await Promise.all(
      requests.map(async (request) => {
        const identity = new Identity(request, set.identity, this.#hasher)
        const tier = this.#tierOf === undefined ? undefined : await this.#tierOf(request)
        const plan = wholePlan(this.#plan(set, identity, tier, request))
        return { request, plan, tier: identity.tier }
      }),
    )
    const checks = plans.map(({ plan: { enforced, shadows } }) => ({
      charges: [...enforced, ...shadows].flatMap(chargesOfStep),
    }))
    const decisions = new Array<RuleDecision>(requests.length)
    for (const wave of this.#store.wavesOf?.(checks) ?? [[...plans.keys()]]) {
      const deciding = wave.map(async (i) => {
        const { request, plan, tier } = plans[i] as (typeof plans)[number]
        decisions[i] = this.#told(await this.#decide(set, plan, request, tier), request)
      })
      await Promise.all(deciding)
    }
    return decisions
  }

  /** Looks at what a check would find: one of cost 0. */
  peek(request: RuleRequest, options?: Omit<RuleCheckOptions, "cost">): Promise<RuleDecision> {
    return this.check(request, { ...options, cost: 0 })
  }

  /** Whether a request meets a rule that is `unlimited` for it: one that no rule meets is not limited either, but nobody said so. */
  isUnlimited(request: RuleRequest): boolean {
    const set = this.#set
    const identity = new Identity(request, set.identity, this.#hasher)
    setTier(set, identity, undefined)
    return meetsUnlimited(set, identity, set.hasOverrides ? this.#nowMs(undefined) : 0)
  }

  /** Every rule and why it matches or not, its key, each limit's state, and the verdict. Charges nothing. */
  async explain(request: RuleRequest, options?: RuleCheckOptions): Promise<Explanation> {
    const set = this.#set
    const identity = new Identity(request, set.identity, this.#hasher)
    const tier = await this.#tierOf?.(request)
    const plan = wholePlan(this.#plan(set, identity, tier, options))
    return await explain({
      set,
      identity,
      plan,
      decide: (charges) => this.#store.decide(charges, this.#at(options)),
      chargesOf: (steps) => chargesOfSteps(steps, this.#store).charges,
      decision: await this.#decide(set, plan, options, identity.tier, "decide"),
      nowMs: this.#nowMs(options),
      cost: options?.cost,
    })
  }

  /** Checks one rule under a key by name, `"user:42"` as decisions show it, whatever the request was. */
  async checkKey(rule: string, key: string, options?: KeyCheckOptions): Promise<RuleDecision> {
    const set = this.#set
    const plan = this.#planOfKey(set, this.#rule(set, rule), key, options)
    return this.#told(await this.#decide(set, plan, options, options?.tier), undefined)
  }

  /** `checkKey` without a promise, on a store in memory. */
  checkKeySync(rule: string, key: string, options?: KeyCheckOptions, slot?: DecisionSlot): RuleDecision {
    if (this.#sync === undefined) {
      throw new SluiceError("STORE_NOT_SYNC", {
        place: "checkKeySync",
        expected: "needs the memory store; use checkKey",
      })
    }
    const set = this.#set
    const plan = this.#planOfKey(set, this.#rule(set, rule), key, options)
    return this.#told(this.#decideSync(this.#sync, set, plan, options, options?.tier, slot), undefined)
  }

  /** The interface of the brief: a client by name, what it asks for, and when. */
  async checkRateLimit(
    clientIdentifier: string,
    ruleContext: RuleContext = {},
    timestamp?: number,
  ): Promise<RateLimitResult> {
    checkKey(clientIdentifier)
    checkType(ruleContext, "ruleContext", "an object", (value) => typeof value === "object" && value !== null)
    const { rule, cost, ...request } = ruleContext
    const options = {
      ...(cost === undefined ? {} : { cost }),
      ...(timestamp === undefined ? {} : { at: timestamp }),
    }
    const decision =
      rule === undefined
        ? await this.check({ ...request, ...identified(clientIdentifier) }, options)
        : await this.checkKey(rule, this.#keyNamed(clientIdentifier), tierOption(options, request.tier))
    const { allowed, limit, remaining, resetAt } = decision
    return { allowed, limit, remaining, resetTime: resetAt }
  }

  /**
   * Gives back what an allowed request was charged, or that much of it. A limit that has forgotten the charge since is left
   * alone. Shadows keep what they saw.
   */
  async refund(decision: RuleDecision, cost?: number): Promise<void> {
    const charged = (decision as Charging)[CHARGED]
    if (charged === undefined) return
    const charges = "rule" in charged ? chargesOfStep(charged) : charged
    const units = cost === undefined ? undefined : costOf(cost)
    // Those of the rules that were charged come first, in the order of the charges.
    const limits = decision.rules.flatMap((outcome) => outcome.limits)
    const given = charges.map((charge, i) => ({
      charge: units === undefined ? charge : { ...charge, cost: units },
      forgottenAt: limits[i]?.resetAt ?? decision.resetAt,
    }))
    await giveBack(this.#store, given, this.#at(undefined), commonWay(charges))
  }

  /** Whether the answer to this request may change what it was charged. */
  mustSettle(decision: RuleDecision): boolean {
    return (decision as Charging)[UNSETTLED] !== undefined
  }

  /**
   * Tells how an allowed request was answered, for rules with `refundOn` or `cost.responseHeader`. Only the first call for
   * a decision counts.
   */
  async settle(decision: RuleDecision, answer: AnsweredRequest): Promise<void> {
    const charging = decision as Charging
    const unsettled = charging[UNSETTLED]
    if (unsettled === undefined) return
    charging[UNSETTLED] = undefined
    await settle(unsettled, answer, { store: this.#store, at: this.#at(undefined) })
  }

  /** Gives back what a key was charged by one rule. A tier with another window or algorithm counts apart. */
  async refundKey(rule: string, key: string, cost = 1, options?: { tier?: string }): Promise<void> {
    const charges = this.#chargesOfKey(rule, key, { ...options, cost: costOf(cost) })
    await this.#store.refund(charges, this.#at(undefined), commonWay(charges))
  }

  /** Forgets what a key was charged by one rule. A block stays. */
  async resetKey(rule: string, key: string, options?: { tier?: string }): Promise<void> {
    const charges = this.#chargesOfKey(rule, key, { ...options, cost: 0 })
    await this.#store.reset(charges, commonWay(charges))
  }

  /** Denies a key of one rule for a while. Blocking again sets the time anew. */
  async blockKey(rule: string, key: string, duration: Duration): Promise<void> {
    checkKey(key)
    const { blocks } = this.#rule(this.#set, rule)
    const cost = Math.round(parseDuration(duration, "blockKey") * 1000)
    await this.#store.charge([{ namespace: blocks, key, policy: blockPolicy, cost }], this.#at(undefined))
  }

  async unblockKey(rule: string, key: string): Promise<void> {
    checkKey(key)
    const { blocks } = this.#rule(this.#set, rule)
    await this.#store.reset([{ namespace: blocks, key, policy: blockPolicy, cost: 0 }])
  }

  /** Stops following its rules, and lets go of the store if the engine made it. */
  async close(): Promise<void> {
    this.#unsubscribe()
    this.#follower.close()
    if (this.#ownsStore) await this.#store.close()
  }

  *#compile(document: RuleSetDocument, revision: number): Steps<RuleSet> {
    const set = yield* RuleSet.compile(document, revision, this.#prefix)
    if (this.#hasSecret) return set
    const missing = (expected: string) =>
      new SluiceError("SECRET_MISSING", { place: "createRuleEngine.secret", expected })
    if (set.countsApiKeys && this.#sync === undefined) {
      throw missing("is required to count by API key in a shared store: every instance must hash them alike")
    }
    // With a secret made up for this process, nobody on a list would ever be found on it.
    if (set.namesApiKeys)
      throw missing("is required where rules name API keys: it must be the one they were hashed with")
    return set
  }

  /** The key that a client goes by: addresses by their subnet, API keys by their hash. */
  #keyNamed(client: string): string {
    const { apiKey, ipKey } = new Identity(identified(client), this.#set.identity, this.#hasher)
    if (apiKey !== undefined) return `apiKey:${apiKey}`
    return ipKey === undefined ? client : `ip:${ipKey}`
  }

  #rule(set: RuleSet, id: string): CompiledRule {
    const rule = set.rule(id)
    if (rule !== undefined) return rule
    throw new SluiceError("RULE_UNKNOWN", { place: "rule", expected: "must be the id of a rule", found: id })
  }

  #plan(
    set: RuleSet,
    identity: Identity,
    tier: string | undefined,
    options: RuleCheckOptions | undefined,
  ): Plan | Step {
    setTier(set, identity, tier)
    const cost = options?.cost === undefined ? undefined : costOf(options.cost)
    return planOf(set, identity, set.hasOverrides ? this.#nowMs(options) : 0, cost)
  }

  /** A key says who it is when it is written as keys of one client are. */
  #planOfKey(
    set: RuleSet,
    rule: CompiledRule,
    key: string,
    options: KeyCheckOptions | undefined,
  ): Plan | Step {
    checkKey(key)
    const nothing = { early: undefined, enforced: [], shadows: [], shadowDenied: [] }
    if (rule.mode === "off") return nothing
    const tier = options?.tier ?? set.defaultTier
    const { limits, from } = set.limitsFor(rule, clientOf(key), tier, this.#nowMs(options))
    if (limits === "unlimited") return nothing
    const step: Step = { rule, key, tier, limits, from, cost: costOf(options?.cost) }
    if (rule.mode === "shadow") return { ...nothing, shadows: [step] }
    return limits.length === 1 ? step : { ...nothing, enforced: [step] }
  }

  async #decide(
    set: RuleSet,
    planned: Plan | Step,
    options: RuleCheckOptions | undefined,
    tier: string | undefined,
    operation: "check" | "decide" = "check",
  ): Promise<RuleDecision> {
    if (this.#sync !== undefined && operation === "check")
      return this.#decideSync(this.#sync, set, planned, options, tier)
    const plan = wholePlan(planned)
    const at = this.#at(options)
    // In one tick, so that a shared store may put them into one call.
    const shadows = Promise.all(
      plan.shadows.map((step) => this.#store[operation](chargesOfStep(step), at, "allow")),
    )
    // Awaited below. Should the check itself reject before that, nobody would handle a shadow that rejects, too.
    shadows.catch(() => {})
    const { charges, blocked } = chargesOfSteps(plan.enforced, this.#store)
    const outcome =
      charges.length === 0 ? undefined : await this.#store[operation](charges, at, commonWay(charges))
    const decision =
      outcome === undefined
        ? earlyDecision(set, plan, this.#nowMs(options), tier)
        : decisionOfPlan(set, plan, outcome, charges, blocked, this.#policies.of(plan.enforced))
    return withShadows(decision, plan, await shadows)
  }

  #decideSync(
    store: SyncStore,
    set: RuleSet,
    planned: Plan | Step,
    options: RuleCheckOptions | undefined,
    tier: string | undefined,
    slot?: DecisionSlot,
  ): RuleDecision {
    const at = this.#at(options)
    if (isStep(planned) && !store.mayBlock(planned.rule.blocks)) {
      const { namespace, policy } = planned.limits[0] as Step["limits"][number]
      const verdict = store.checkOneSync(namespace, planned.key, policy, planned.cost, at)
      const policies = this.#policies.ofOne(planned)
      // Whoever is told of decisions may keep them, and so does an answer that is still to come.
      const isKept = this.#onDecision !== undefined || planned.rule.settlement !== undefined
      return slot === undefined || isKept
        ? decisionOfSingle(set, planned, verdict, policies)
        : slot.fill(set, planned, verdict, policies)
    }
    const plan = wholePlan(planned)
    const shadows = plan.shadows.map((shadow) => store.checkSync(chargesOfStep(shadow), at))
    if (plan.enforced.length === 0)
      return withShadows(earlyDecision(set, plan, this.#nowMs(options), tier), plan, shadows)
    const { charges, blocked } = chargesOfSteps(plan.enforced, store)
    const outcome: Outcome = store.checkSync(charges, at)
    const decision = decisionOfPlan(set, plan, outcome, charges, blocked, this.#policies.of(plan.enforced))
    return withShadows(decision, plan, shadows)
  }

  #chargesOfKey(rule: string, key: string, options: KeyCheckOptions): Charge[] {
    const set = this.#set
    const { enforced, shadows } = wholePlan(this.#planOfKey(set, this.#rule(set, rule), key, options))
    return [...enforced, ...shadows].flatMap(chargesOfStep)
  }

  #told(decision: RuleDecision, request: RuleRequest | undefined): RuleDecision {
    if (this.#onDecision !== undefined) notify(this.#onDecision, { decision, request })
    return decision
  }

  /** The time of the request in microseconds, or undefined to let the store's clock decide. */
  #at(options: RuleCheckOptions | undefined): number | undefined {
    const ms = options?.at ?? this.#clock?.now()
    return ms === undefined ? undefined : microsOf(ms)
  }

  #nowMs(options: RuleCheckOptions | undefined): number {
    return options?.at ?? (this.#clock ?? systemClock).now()
  }
}

function tierOption(options: RuleCheckOptions, tier: string | undefined): KeyCheckOptions {
  return tier === undefined ? options : { ...options, tier }
}

function warn(error: SluiceError): void {
  globalThis.process?.emitWarning?.(error)
}
