import type { Duration } from "../../duration.js"
import { notify } from "../../notify.js"
import { checkList, checkObject } from "../../options.js"
import type { LeaseStats } from "../../stores/leases/lease-stats.js"
import { memoryStore } from "../../stores/memory/memory-store.js"
import { DEFAULT_PREFIX } from "../../stores/store.js"
import type { ResponseReader } from "../../usage/response-reader.js"
import { ApiKeyHasher } from "../identity/api-key.js"
import type { RuleRequest } from "../identity/rule-request.js"
import type { RuleSetDocument } from "../language/schema.js"
import { mustSettle, readerOfResponse, refundDecision, settleDecision } from "./after-decision.js"
import type { BlockedRuleKey, BlockedRuleKeys } from "./blocked-keys.js"
import { Decider, type PlannedCheck } from "./decider.js"
import {
  checkEngineOptions,
  type KeyCheckOptions,
  notSync,
  type RateLimitResult,
  type RuleCheckOptions,
  type RuleContext,
  type RuleEngineOptions,
  rateLimitQuestion,
} from "./engine-options.js"
import { type Explanation, explain } from "./explain.js"
import type { HoldCounts } from "./hold-counts.js"
import { Holding, type RequestHold } from "./holding.js"
import { identify, keyUnder, matchesUnlimited, readsBody } from "./plan.js"
import type {
  Reservations,
  ReservedRuleDecision,
  RuleReserveOptions,
  SettledReservation,
} from "./reservations.js"
import type { AnsweredRequest } from "./response-charge.js"
import type { RuleDecision } from "./rule-decision.js"
import { type LimitUsage, RuleKeys } from "./rule-keys.js"
import type { RuleSet } from "./rule-set.js"
import { followRules, type SetFollower } from "./set-follower.js"

/** Creates a rule engine. Most programs create one and check every request with it. */
export function createRuleEngine(options: RuleEngineOptions): RuleEngine {
  return new RuleEngine(options)
}

export class RuleEngine {
  readonly #ownsStore: boolean
  readonly #decider: Decider
  readonly #holding: Holding
  readonly #keys: RuleKeys
  readonly #prefix: string
  readonly #hasher: ApiKeyHasher
  readonly #secret: RuleEngineOptions["secret"]
  readonly #tierOf: RuleEngineOptions["tierOf"]
  readonly #onDecision: RuleEngineOptions["onDecision"]
  readonly #follower: SetFollower
  #set: RuleSet
  #reservations: Promise<Reservations> | undefined

  constructor(options: RuleEngineOptions) {
    checkEngineOptions(options)
    const { store, clock } = options
    this.#ownsStore = store === undefined
    this.#decider = new Decider(store ?? memoryStore(clock === undefined ? {} : { clock }), clock)
    this.#holding = new Holding(this.#decider, () => this.#set)
    this.#prefix = options.prefix ?? DEFAULT_PREFIX
    this.#keys = new RuleKeys(this.#decider, this.#prefix, () => this.#set)
    this.#hasher = new ApiKeyHasher(options.secret)
    this.#secret = options.secret
    this.#tierOf = options.tierOf
    this.#onDecision = options.onDecision
    const { first, follower } = followRules(options, this.#decider.isSync, (set) => {
      this.#set = set
    })
    this.#set = first
    this.#follower = follower
  }

  /** The revision in force. */
  get revision(): number {
    return this.#set.revision
  }

  /** What leases have done so far. Undefined until a limit with leases is checked, and for a store in memory. */
  get leases(): LeaseStats | undefined {
    return this.#decider.leases
  }

  /** What has become of the holds of each rule since the engine was created. Empty if no limit is of concurrency. */
  get holds(): ReadonlyMap<string, HoldCounts> {
    return this.#decider.holdCounter.byRule
  }

  /** The rule set in force. */
  get rules(): RuleSetDocument {
    return this.#set.document
  }

  /**
   * Resolves once the engine uses, or has refused, every revision that its source has accepted so far. A rule set that takes
   * longer than about 10 ms to compile is compiled in slices; meanwhile the previous set decides.
   */
  settled(): Promise<void> {
    return this.#follower.settled()
  }

  /** Whether `checkSync` works: the store is in memory, and there is no `tierOf` to wait for. */
  get isSync(): boolean {
    return this.#decider.isSync && this.#tierOf === undefined
  }

  /** The keyed hash of an API key, as rule sets name it. */
  hashApiKey(apiKey: string): string {
    return this.#hasher.hash(apiKey)
  }

  /** Decides whether a request may pass. If so, every rule that it matches is charged. */
  async check(request: RuleRequest, options?: RuleCheckOptions): Promise<RuleDecision> {
    const tier = this.#tierOf === undefined ? undefined : await this.#tierOf(request)
    return this.#notified(await this.#decider.decide(this.#plan(request, tier, options)), request)
  }

  /** `check` that returns a promise only if it must wait: a store in memory and leases answer at once. */
  checkEither(request: RuleRequest, options?: RuleCheckOptions): RuleDecision | Promise<RuleDecision> {
    if (this.#tierOf !== undefined) return this.check(request, options)
    return this.#notifiedEither(this.#decider.decideEither(this.#plan(request, undefined, options)), request)
  }

  /** `check` without a promise. Only with the memory store and without `tierOf`: see `isSync`. */
  checkSync(request: RuleRequest, options?: RuleCheckOptions): RuleDecision {
    if (!this.isSync) throw notSync("checkSync", "needs the memory store and no tierOf; use check")
    return this.#notified(this.#decider.decideSync(this.#plan(request, undefined, options)), request)
  }

  /**
   * Decides a list of requests. Each is all or nothing by itself, and sees the charges of those before it that share a key
   * with it. Requests without a common key may be decided in another order if their counters are on several servers or slots.
   */
  async checkMany(requests: readonly (RuleRequest & RuleCheckOptions)[]): Promise<RuleDecision[]> {
    checkList(requests, "checkMany")
    for (const [i, request] of requests.entries()) checkObject(request, `checkMany[${i}]`)
    const checks = await Promise.all(
      requests.map(async (request) => {
        const tier = this.#tierOf === undefined ? undefined : await this.#tierOf(request)
        return this.#plan(request, tier, request)
      }),
    )
    return await this.#decider.decideMany(checks, (decision, i) => this.#notified(decision, requests[i]))
  }

  /** What a check would decide. Charges nothing: it is a check of cost 0. */
  peek(request: RuleRequest, options?: Omit<RuleCheckOptions, "cost">): Promise<RuleDecision> {
    return this.check(request, { ...options, cost: 0 })
  }

  /** Whether a rule that matches the request is `unlimited` for it. False for a request that no rule matches. */
  isUnlimited(request: RuleRequest): boolean {
    const set = this.#set
    const identity = identify(set, request, this.#hasher, undefined)
    return matchesUnlimited(set, identity, set.hasOverrides ? this.#decider.nowMs(undefined) : 0)
  }

  /** Whether a rule that matches the request charges by its body: a check of it then needs the `body`. Does not read the body. */
  readsBody(request: RuleRequest): boolean {
    const set = this.#set
    return set.readsBodies && readsBody(set, identify(set, request, this.#hasher, undefined))
  }

  /** Tells for every rule why it matches or not, its key, and the state of its limits; and the verdict. Charges nothing. */
  async explain(request: RuleRequest, options?: RuleCheckOptions): Promise<Explanation> {
    const set = this.#set
    const identity = identify(set, request, this.#hasher, await this.#tierOf?.(request))
    const check = this.#decider.plan(set, identity, options)
    return await explain({
      set,
      identity,
      plan: check.plan,
      decide: (charges) => this.#decider.store.decide(charges, this.#decider.at(options)),
      decision: await this.#decider.decide(check, "decide"),
      nowMs: this.#decider.nowMs(options),
      cost: options?.cost,
    })
  }

  /** Checks one rule under a key by name, such as `"user:42"` as decisions show it. */
  async checkKey(rule: string, key: string, options?: KeyCheckOptions): Promise<RuleDecision> {
    return this.#notified(await this.#decider.decide(this.#keys.plan(rule, key, options)), undefined)
  }

  /** `checkKey` that returns a promise only if it must wait. */
  checkKeyEither(rule: string, key: string, options?: KeyCheckOptions): RuleDecision | Promise<RuleDecision> {
    return this.#notifiedEither(this.#decider.decideEither(this.#keys.plan(rule, key, options)), undefined)
  }

  /** `checkKey` without a promise. Only with the memory store. */
  checkKeySync(rule: string, key: string, options?: KeyCheckOptions): RuleDecision {
    if (!this.#decider.isSync) throw notSync("checkKeySync", "needs the memory store; use checkKey")
    return this.#notified(this.#decider.decideSync(this.#keys.plan(rule, key, options)), undefined)
  }

  /**
   * Checks a request of a client that the application names: the shortest way to ask. `"ip:…"`, `"user:…"` and `"apiKey:…"`
   * are read as that kind of client, a bare address is an `"ip:…"`, and any other text is a `"user:…"`. `ruleContext` describes
   * the request, or names the one rule to check; the counters are the same. `timestamp` is in milliseconds since 1970; the
   * default is now.
   */
  async checkRateLimit(
    clientIdentifier: string,
    ruleContext: RuleContext = {},
    timestamp?: number,
  ): Promise<RateLimitResult> {
    const { rule, request, options } = rateLimitQuestion(clientIdentifier, ruleContext, timestamp)
    const decision =
      rule === undefined
        ? await this.check(request, options)
        : await this.checkKey(rule, keyUnder(this.#set, rule, request, this.#hasher), options)
    const { allowed, limit, remaining, resetAt } = decision
    return { allowed, limit, remaining, resetTime: resetAt }
  }

  /**
   * Gives back what an allowed request was charged, or `cost` of it. A limit that has already forgotten the charge is left
   * alone. Rules in shadow mode keep their counts.
   */
  async refund(decision: RuleDecision, cost?: number): Promise<void> {
    await refundDecision(decision, cost, this.#decider, this.#holding)
  }

  /** Whether the response to this request may change what it was charged, or the request holds something. */
  mustSettle(decision: RuleDecision): boolean {
    return mustSettle(decision)
  }

  /**
   * What an allowed request holds by limits of concurrency: an id that releases and extends it on every engine with the same
   * rules and store, and how long it lasts. Undefined if it holds nothing.
   */
  holdOf(decision: RuleDecision): RequestHold | undefined {
    return this.#holding.holdOf(decision)
  }

  /**
   * Ends what an allowed request holds, by its decision or its id: call it when the request is over, however it ended. Holds
   * that nobody releases end by themselves. Resolves to false if one of them has ended before; a second call does nothing.
   */
  async release(hold: RuleDecision | string): Promise<boolean> {
    return await this.#holding.release(hold)
  }

  /**
   * For a request whose connection speaks another protocol from now on, such as a WebSocket: ends what it holds, except by rules
   * with `holdUpgrades`. The caller extends these while the connection is open, and releases them at its end.
   */
  async releaseAtUpgrade(decision: RuleDecision): Promise<void> {
    await this.#holding.releaseAtUpgrade(decision)
  }

  /** Lets what a request holds begin again. Resolves to false, and extends nothing, if one of its holds has ended. */
  async extend(hold: RuleDecision | string): Promise<boolean> {
    return await this.#holding.extend(hold)
  }

  /**
   * Returns a reader for the body of the response to an allowed request, for rules with `cost.responseJson`. Write the bytes to
   * it while they pass, and give `settle` what its `end` returns. Undefined if no rule charges by the body, or if its type is
   * neither JSON nor a stream of JSON.
   */
  responseReader(decision: RuleDecision, contentType: string | null | undefined): ResponseReader | undefined {
    return readerOfResponse(decision, contentType)
  }

  /**
   * Tells the engine the response to an allowed request, for rules with `refundOn`, `cost.responseHeader` or
   * `cost.responseJson`. Only the first call for a decision has an effect.
   */
  async settle(decision: RuleDecision, answer: AnsweredRequest): Promise<void> {
    await settleDecision(decision, answer, this.#decider)
  }

  /**
   * `check` for a request whose real cost is known later: charges the estimate. If it is allowed, the decision has a `reservation`, a
   * text for `settleReservation`. Every engine with the same store, prefix and secret can settle it.
   */
  async reserve(request: RuleRequest, options: RuleReserveOptions = {}): Promise<ReservedRuleDecision> {
    const reservations = await this.#openReservations()
    const tier = await this.#tierOf?.(request)
    return this.#notified(await reservations.reserve(this.#plan(request, tier, undefined), options), request)
  }

  /** `reserve` for one rule and a key by name. */
  async reserveKey(
    rule: string,
    key: string,
    options: RuleReserveOptions & { tier?: string } = {},
  ): Promise<ReservedRuleDecision> {
    checkObject(options, "reserve")
    const { tier, ...rest } = options
    const reservations = await this.#openReservations()
    const ofTier = tier === undefined ? {} : { tier }
    const planned = this.#keys.plan(rule, key, { ...ofTier, cost: rest.cost ?? 1 })
    return this.#notified(await reservations.reserve(planned, rest), undefined)
  }

  /**
   * Settles a reservation at its real cost: 0 cancels it. Only the first call changes something. Holds by limits of concurrency are
   * released.
   */
  async settleReservation(reservation: string, cost: number): Promise<SettledReservation> {
    const reservations = await this.#openReservations()
    return await reservations.settle(reservation, cost)
  }

  /** Gives back what a rule has charged a key. A tier whose limits have another window or algorithm has other counters. */
  async refundKey(rule: string, key: string, cost = 1, options?: { tier?: string }): Promise<void> {
    await this.#keys.refund(rule, key, cost, options)
  }

  /**
   * What a key is charged under each limit of a rule, in detail: times of a log, counts by bucket. Undefined if the store cannot
   * tell, as while Redis is away. Charges nothing.
   */
  async keyUsage(rule: string, key: string, options?: { tier?: string }): Promise<LimitUsage[] | undefined> {
    return await this.#keys.usage(rule, key, options)
  }

  /** Since when and until when `blockKey` denies a key. Undefined if it does not, or the store cannot tell. */
  async keyBlock(
    rule: string,
    key: string,
  ): Promise<Pick<BlockedRuleKey, "blockedSince" | "blockedUntil"> | undefined> {
    return await this.#keys.blockOf(rule, key)
  }

  /** Forgets what a rule has charged a key. A block of the key stays. */
  async resetKey(rule: string, key: string, options?: { tier?: string }): Promise<void> {
    await this.#keys.reset(rule, key, options)
  }

  /** Denies a key of one rule for a while. A second call replaces the duration of the first. */
  async blockKey(rule: string, key: string, duration: Duration): Promise<void> {
    await this.#keys.block(rule, key, duration)
  }

  /** Ends the block of a key under one rule, and forgets the denials and blocks that penalties have counted. */
  async unblockKey(rule: string, key: string): Promise<void> {
    await this.#keys.unblock(rule, key)
  }

  /**
   * The keys that are blocked now, by penalties or by `blockKey`: at most `max`, those that last longest first. Undefined if the
   * store cannot tell, as while Redis is away. A key that the list lacks may still be blocked: see docs/control-plane.md.
   */
  async blockedKeys(max = 100): Promise<BlockedRuleKeys | undefined> {
    return await this.#keys.blocked(max)
  }

  /** Stops following the rules, and closes the store if the engine created it. */
  async close(): Promise<void> {
    this.#follower.close()
    await this.#decider.close()
    if (this.#ownsStore) await this.#decider.store.close()
  }

  /** Loads the reservations with the first call that needs them. */
  #openReservations(): Promise<Reservations> {
    this.#reservations ??= import("./reservations.js").then(
      ({ Reservations }) => new Reservations(this.#decider, this.#prefix, this.#secret),
    )
    return this.#reservations
  }

  #plan(request: RuleRequest, tier: string | undefined, options: RuleCheckOptions | undefined): PlannedCheck {
    const set = this.#set
    return this.#decider.plan(set, identify(set, request, this.#hasher, tier), options)
  }

  #notifiedEither(
    decision: RuleDecision | Promise<RuleDecision>,
    request: RuleRequest | undefined,
  ): RuleDecision | Promise<RuleDecision> {
    return decision instanceof Promise
      ? decision.then((made) => this.#notified(made, request))
      : this.#notified(decision, request)
  }

  #notified<D extends RuleDecision>(decision: D, request: RuleRequest | undefined): D {
    if (this.#onDecision !== undefined) notify(this.#onDecision, { decision, request })
    return decision
  }
}
