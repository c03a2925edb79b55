// What allowed requests hold by limits of concurrency: its release, its extension, and its id for callers that cannot keep the
// decision.

import { isConcurrency } from "../../algorithms/concurrency.js"
import { SluiceError } from "../../errors.js"
import { checkObject } from "../../options.js"
import { holdIdText, parseHoldId } from "../../stores/hold-id.js"
import type { Charge } from "../../stores/store.js"
import { clientOf } from "../identity/client.js"
import { type ChargedDecision, HELD } from "./build-decision.js"
import type { CompiledRule, RuleLimitPolicy } from "./compile-rule.js"
import type { Decider } from "./decider.js"
import { defaultOnStoreFailure, type Held } from "./plan.js"
import type { RuleDecision } from "./rule-decision.js"
import type { RuleSet } from "./rule-set.js"

/** What a request holds. */
export interface RequestHold {
  /** Releases and extends the hold, on every engine with the same rules and the same store. */
  readonly id: string
  /** After so many milliseconds the hold ends by itself: the shortest `hold` of its limits. */
  readonly holdMs: number
}

/** One limit in an id: its rule and its counters, the tier and the key of the request, units, and the id in the store. */
type Entry = [rule: string, counters: string, tier: string | null, key: string, units: number, hold: string]

const ID_PREFIX = "hold_"
const BASE64URL = /^[A-Za-z0-9_-]+$/

export class Holding {
  readonly #decider: Decider
  readonly #currentSet: () => RuleSet

  constructor(decider: Decider, currentSet: () => RuleSet) {
    this.#decider = decider
    this.#currentSet = currentSet
  }

  /** Undefined if the request holds nothing. */
  holdOf(decision: RuleDecision): RequestHold | undefined {
    checkObject(decision, "holdOf")
    const held = (decision as ChargedDecision)[HELD]
    if (held === undefined) return undefined
    return {
      // Middlewares and the gateway keep the decision, and need no id.
      get id() {
        return idOf(held)
      },
      holdMs: Math.min(...held.map(({ charge }) => charge.policy.windowMs)),
    }
  }

  /** Ends what a request holds. False if one of its holds has ended before. */
  async release(hold: RuleDecision | string): Promise<boolean> {
    const held = this.#held(hold, "release")
    if (typeof hold === "object") (hold as ChargedDecision)[HELD] = undefined
    return await this.#ask("release", held)
  }

  /** Ends what a request holds by rules without `holdUpgrades`. */
  async releaseAtUpgrade(decision: RuleDecision): Promise<void> {
    const kept: Held[] = []
    const over: Held[] = []
    for (const held of this.#held(decision, "releaseAtUpgrade"))
      (held.rule.spec.holdUpgrades === true ? kept : over).push(held)
    ;(decision as ChargedDecision)[HELD] = kept.length === 0 ? undefined : kept
    await this.#ask("release", over)
  }

  /** Lets everything that a request holds begin again. Extends nothing, and returns false, if one of its holds has ended. */
  async extend(hold: RuleDecision | string): Promise<boolean> {
    return await this.#ask("extend", this.#held(hold, "extend"))
  }

  /** Rules in shadow mode are asked one by one, and have no part in the answer. */
  async #ask(operation: "release" | "extend", held: readonly Held[]): Promise<boolean> {
    const { store } = this.#decider
    const at = this.#decider.at(undefined)
    const ask = async (charges: readonly Charge[]) =>
      charges.length > 0 && (await store[operation]?.(charges, at, defaultOnStoreFailure(charges))) === true
    const [isDone] = await Promise.all([
      ask(held.filter(({ isShadow }) => !isShadow).map(({ charge }) => charge)),
      ...held.filter(({ isShadow }) => isShadow).map(({ charge }) => ask([charge])),
    ])
    if (operation === "release" || !isDone)
      this.#decider.holdCounter.count(held, isDone ? "released" : "late")
    return isDone
  }

  #held(hold: RuleDecision | string, place: string): readonly Held[] {
    if (typeof hold === "string") return entriesOf(hold, place).flatMap((entry) => this.#find(entry))
    checkObject(hold, place)
    return (hold as ChargedDecision)[HELD] ?? []
  }

  /**
   * The hold that an entry of an id names. The limit comes from the rules in force, never from the id, so a forged id can name
   * only holds that do not exist. Nothing if the rules no longer have the limit: its holds end by themselves.
   */
  #find([id, counters, tier, key, cost, text]: Entry): Held[] {
    const set = this.#currentSet()
    const rule = set.rule(id)
    const hold = parseHoldId(text)
    if (rule === undefined || hold === undefined) return []
    const applying = set.limitsFor(rule, clientOf(key), tier ?? undefined, this.#decider.nowMs(undefined))
    const limit = limitsOf(rule, applying.limits).find(
      ({ namespace, policy }) => namespace.name === counters && isConcurrency(policy),
    )
    if (limit === undefined) return []
    const { namespace, policy } = limit
    const { onStoreFailure } = rule
    const isShadow = rule.mode === "shadow" || isIn(rule.candidate, limit)
    return [
      {
        charge: { namespace, key, policy, cost, onStoreFailure, hold },
        rule,
        tier: tier ?? undefined,
        isShadow,
      },
    ]
  }
}

function idOf(held: readonly Held[]): string {
  const entries = held.map(({ charge: { namespace, key, cost, hold }, rule, tier }): Entry => {
    return [rule.id, namespace.name, tier ?? null, key, cost, holdIdText(hold)]
  })
  return encodeId(entries)
}

/**
 * `hold_` and JSON in base64url. A caller keeps the id and sends it back, so any instance can use it, and none has to remember it.
 * It is neither secret nor signed: anybody can write one.
 */
export function encodeId(content: unknown): string {
  let bytes = ""
  for (const byte of new TextEncoder().encode(JSON.stringify(content))) bytes += String.fromCharCode(byte)
  return `${ID_PREFIX}${btoa(bytes).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`
}

/** What an id carries. Undefined if the text is no id. */
function decodeId(id: string): unknown {
  const text = id.slice(ID_PREFIX.length)
  if (!id.startsWith(ID_PREFIX) || !BASE64URL.test(text)) return undefined
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"))
    const bytes = new Uint8Array(binary.length)
    for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i)
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch {
    return undefined
  }
}

type LimitSet = CompiledRule["applying"]["limits"]

/** Those that apply to a client, and then all others that the rule has. */
function limitsOf(rule: CompiledRule, applying: LimitSet): RuleLimitPolicy[] {
  const sets = [applying, rule.applying.limits, ...[...rule.tiers.values()].map(({ limits }) => limits)]
  return [...sets, rule.candidate ?? []].flatMap((limits) => (limits === "unlimited" ? [] : limits))
}

function isIn(limits: LimitSet | undefined, limit: RuleLimitPolicy): boolean {
  return Array.isArray(limits) && limits.includes(limit)
}

function entriesOf(id: string, place: string): readonly Entry[] {
  const entries = decodeId(id)
  if (Array.isArray(entries) && entries.every(isEntry)) return entries
  throw new SluiceError("HOLD_INVALID", {
    place,
    expected: "must be the id of a hold, as holdOf or /v1/acquire has given it",
  })
}

function isEntry(entry: unknown): entry is Entry {
  if (!Array.isArray(entry) || entry.length !== 6) return false
  const [rule, counters, tier, key, units, hold] = entry as unknown[]
  return (
    [rule, counters, key, hold].every((text) => typeof text === "string") &&
    (tier === null || typeof tier === "string") &&
    Number.isSafeInteger(units) &&
    (units as number) > 0 &&
    key !== ""
  )
}
