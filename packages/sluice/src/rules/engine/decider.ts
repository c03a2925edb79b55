import { costOf, microsOf } from "../../call-options.js"
import { type Clock, systemClock } from "../../clock.js"
import { getOrAdd } from "../../get-or-add.js"
import type { HeaderPolicy } from "../../header-style.js"
import { promiseOf } from "../../policy.js"
import type { LeaseStats } from "../../stores/leases/lease-stats.js"
import type { LeasingStore } from "../../stores/leases/leasing-store.js"
import {
  type Charge,
  type Degraded,
  isSyncStore,
  type Outcome,
  type Store,
  type SyncStore,
} from "../../stores/store.js"
import type { Identity } from "../identity/identity.js"
import { buildDecision, earlyDecision, withShadows } from "./build-decision.js"
import type { RuleLimitPolicy } from "./compile-rule.js"
import type { RuleCheckOptions } from "./engine-options.js"
import { HoldCounter } from "./hold-counts.js"
import type { Plan, Step } from "./plan.js"
import {
  chargesOfShadow,
  chargesOfStep,
  chargesOfSteps,
  defaultOnStoreFailure,
  type PlanCharges,
  planOf,
  type ShadowCharges,
} from "./plan.js"
import type { RuleDecision } from "./rule-decision.js"
import type { RuleSet } from "./rule-set.js"

/** A check that is ready to be decided: the rules that apply are known, the store has not been asked. */
export interface PlannedCheck {
  readonly set: RuleSet
  readonly plan: Plan
  readonly tier: string | undefined
  readonly options: RuleCheckOptions | undefined
}

interface PolicyNode {
  policies: readonly HeaderPolicy[] | undefined
  readonly next: WeakMap<readonly RuleLimitPolicy[], PolicyNode>
}

/** The limits of checks as headers describe them. Equal lists of limits give the same array, so that others may memoize by it. */
class HeaderPolicies {
  readonly #root: PolicyNode = { policies: [], next: new WeakMap() }

  of(steps: readonly Step[]): readonly HeaderPolicy[] {
    let node = this.#root
    for (const { limits } of steps) {
      node = getOrAdd(node.next, limits, () => ({ policies: undefined, next: new WeakMap() }))
    }
    node.policies ??= policiesOf(steps)
    return node.policies
  }
}

/** Names are unique: a rule that several descriptors match is `api`, `api#2` and so on. */
function policiesOf(steps: readonly Step[]): HeaderPolicy[] {
  const taken = new Set<string>()
  return steps.flatMap(({ rule, limits }) =>
    limits.map(({ name: limitName, policy }) => {
      const label = limits.length === 1 ? rule.id : `${rule.id}/${limitName}`
      let name = label
      for (let count = 2; taken.has(name); count++) name = `${label}#${count}`
      taken.add(name)
      return { name, ...promiseOf(policy) }
    }),
  )
}

/** Asks the store about planned checks and builds the decisions. */
export class Decider {
  readonly #store: Store
  /** The leases around a shared store, from the first check of a limit with leases on. Their code is loaded with it. */
  #leasing: LeasingStore | undefined
  /** The store, if it answers without a promise. */
  readonly #sync: SyncStore | undefined
  readonly #clock: Clock | undefined
  readonly #policies = new HeaderPolicies()
  readonly holdCounter = new HoldCounter()

  constructor(store: Store, clock: Clock | undefined) {
    this.#sync = isSyncStore(store) ? store : undefined
    this.#store = store
    this.#clock = clock
  }

  get isSync(): boolean {
    return this.#sync !== undefined
  }

  /** The store, or the leases around it. */
  get store(): Store {
    return this.#leasing ?? this.#store
  }

  get leases(): LeaseStats | undefined {
    return this.#leasing?.stats
  }

  /** Hands back the leases. The store stays open. */
  async close(): Promise<void> {
    await this.#leasing?.close()
  }

  /** `decide` that returns a promise only if it must wait: a store in memory and leases answer at once. */
  decideEither(check: PlannedCheck): RuleDecision | Promise<RuleDecision> {
    if (this.#sync !== undefined) return this.decideSync(check)
    const { plan, options } = check
    const store = this.#leasing
    if (store === undefined || plan.shadows.length > 0) return this.decide(check)
    const charges = chargesOfSteps(plan.enforced, store)
    if (charges.charges.length === 0) return this.#build(check, charges, undefined, [])
    const outcome = store.checkEither(
      charges.charges,
      this.at(options),
      defaultOnStoreFailure(charges.charges),
    )
    return outcome instanceof Promise
      ? outcome.then((made) => this.#build(check, charges, made, []))
      : this.#build(check, charges, outcome, [])
  }

  /** Decides, and charges an allowed request. With `decide` it charges nothing. */
  async decide(check: PlannedCheck, operation: "check" | "decide" = "check"): Promise<RuleDecision> {
    if (this.#sync !== undefined && operation === "check") return this.decideSync(check)
    const { plan, options } = check
    const at = this.at(options)
    // In the same tick as the check below, so that a shared store can send them in one call.
    const shadowCharges = plan.shadows.map(chargesOfShadow)
    const shadows = Promise.all(
      shadowCharges.map(({ charges }) => this.store[operation](charges, at, "allow")),
    )
    // If the check rejects first, nothing awaits the shadows: they must not become unhandled rejections.
    shadows.catch(() => {})
    const charges = chargesOfSteps(plan.enforced, this.store)
    if (this.#leasing === undefined && charges.charges.some(({ policy }) => policy.lease > 0))
      await this.#loadLeases()
    const outcome =
      charges.charges.length === 0
        ? undefined
        : await this.store[operation](charges.charges, at, defaultOnStoreFailure(charges.charges))
    const isCharged = operation === "check"
    return this.#build(check, charges, outcome, await shadows, isCharged ? shadowCharges : [], isCharged)
  }

  /**
   * `decide` with these charges: first those of the rules in force, then those of each rule in shadow mode. The store is asked, not
   * a lease. Returns the outcome of each list too, or undefined for a list without charges.
   */
  async checkLists(
    check: PlannedCheck,
    [enforced, ...shadows]: readonly (readonly Charge[])[],
    blocked: PlanCharges["blocked"],
  ): Promise<{ decision: RuleDecision; outcomes: readonly (Outcome | undefined)[] }> {
    const at = this.at(check.options)
    const ask = (charges: readonly Charge[], onStoreFailure: Degraded) =>
      this.#leasing?.checkInStore(charges, at, onStoreFailure) ??
      this.#store.check(charges, at, onStoreFailure)
    const first = enforced ?? []
    const [outcome, ...others] = await Promise.all([
      first.length === 0 ? undefined : ask(first, defaultOnStoreFailure(first)),
      ...shadows.map((charges) => ask(charges, "allow")),
    ])
    const charges = { charges: first, held: undefined, blocked }
    const decision = this.#build(check, charges, outcome, others as Outcome[])
    return { decision, outcomes: [outcome, ...others] }
  }

  /** Decides checks. Each sees the charges of those before it that share a key with it. `made` is called with each decision. */
  async decideMany(
    checks: readonly PlannedCheck[],
    made: (decision: RuleDecision, index: number) => void,
  ): Promise<RuleDecision[]> {
    const charges = checks.map(({ plan: { enforced, shadows } }) => ({
      charges: [...enforced, ...shadows].flatMap(chargesOfStep),
    }))
    const decisions = new Array<RuleDecision>(checks.length)
    for (const wave of this.store.wavesOf?.(charges) ?? [[...checks.keys()]]) {
      const deciding = wave.map(async (i) => {
        const decision = await this.decide(checks[i] as PlannedCheck)
        decisions[i] = decision
        made(decision, i)
      })
      await Promise.all(deciding)
    }
    return decisions
  }

  /** `decide` on a store that answers at once: see `isSync`. */
  decideSync(check: PlannedCheck): RuleDecision {
    const store = this.#sync as SyncStore
    const { plan, options } = check
    const at = this.at(options)
    const shadowCharges = plan.shadows.map(chargesOfShadow)
    const shadows = shadowCharges.map(({ charges }) => store.checkSync(charges, at))
    const charges = chargesOfSteps(plan.enforced, store)
    return this.#build(check, charges, checkSync(store, charges.charges, at), shadows, shadowCharges)
  }

  /** Plans the check of a request. */
  plan(set: RuleSet, identity: Identity, options: RuleCheckOptions | undefined): PlannedCheck {
    const cost = options?.cost === undefined ? undefined : costOf(options.cost)
    const plan = planOf(set, identity, set.hasOverrides ? this.nowMs(options) : 0, cost)
    return { set, plan, tier: identity.tier, options }
  }

  /** The time of a check in microseconds, or undefined to let the store's clock decide. */
  at(options: RuleCheckOptions | undefined): number | undefined {
    const ms = options?.at ?? this.#clock?.now()
    return ms === undefined ? undefined : microsOf(ms)
  }

  nowMs(options: RuleCheckOptions | undefined): number {
    return options?.at ?? (this.#clock ?? systemClock).now()
  }

  async #loadLeases(): Promise<void> {
    const { LeasingStore } = await import("../../stores/leases/leasing-store.js")
    this.#leasing ??= new LeasingStore(this.#store)
  }

  #build(
    { set, plan, tier, options }: PlannedCheck,
    charges: PlanCharges,
    outcome: Outcome | undefined,
    shadows: readonly Outcome[],
    shadowCharges: readonly ShadowCharges[] = [],
    isCharged = true,
  ): RuleDecision {
    if (isCharged && charges.held !== undefined && outcome?.allowed === true)
      this.holdCounter.count(charges.held, "acquired")
    const decision =
      outcome === undefined
        ? earlyDecision(set, plan, this.nowMs(options), tier)
        : buildDecision(set, plan, outcome, charges, this.#policies.of(plan.enforced))
    if (shadows.length === 0) return decision
    const held = shadowCharges.flatMap((shadow, i) => (shadows[i]?.allowed === true ? shadow.held : []))
    if (decision.allowed || held.length === 0) return withShadows(decision, plan, shadows, held)
    // A request that other rules have denied never begins, so it holds nothing. What cannot be released ends by itself.
    for (const { charge } of held) this.store.release?.([charge], this.at(options), "allow").catch(() => {})
    return withShadows(decision, plan, shadows, [])
  }
}

/** Undefined without charges. Most checks have one, which a store in memory decides in half the time of a list. */
function checkSync(
  store: SyncStore,
  charges: readonly Charge[],
  at: number | undefined,
): Outcome | undefined {
  const first = charges[0]
  if (first === undefined) return undefined
  if (charges.length > 1) return store.checkSync(charges, at)
  const { namespace, key, policy, cost } = first
  const verdict =
    first.hold === undefined
      ? store.checkOneSync(namespace, key, policy, cost, at)
      : store.acquireOneSync(first, at)
  return { allowed: verdict.allowed, now: verdict.now, verdicts: [verdict], degraded: verdict.degraded }
}
