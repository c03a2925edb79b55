// Reservations by rules, for callers in other processes: a reservation is a text, and any instance that shares store and secret
// can settle it.
//
// The text holds what was charged, and an HMAC of it, so nobody can change it or make one up. A record in the store makes sure
// that it is settled once: a hold that the check acquires together with its charges, and that settling claims.

import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto"
import type { Policy } from "../../algorithms/algorithm.js"
import { isConcurrency } from "../../algorithms/concurrency.js"
import { costOf, realCostOf } from "../../call-options.js"
import type { Duration } from "../../duration.js"
import { parseDuration } from "../../duration.js"
import { SluiceError } from "../../errors.js"
import { getOrAdd, getOrCache } from "../../get-or-add.js"
import { checkFields, checkOneOf } from "../../options.js"
import { compilePolicy, restorePolicy, type SavedPolicy, savePolicy } from "../../policy.js"
import { holdIdText, newHoldId, parseHoldId } from "../../stores/hold-id.js"
import { settlementOf, timeOfCharge } from "../../stores/settlement.js"
import { type Charge, Namespace, type Outcome, type Overdraft, type Settlement } from "../../stores/store.js"
import { CHARGED, type ChargedDecision, HELD, PENDING } from "./build-decision.js"
import type { Decider, PlannedCheck } from "./decider.js"
import type { Plan, Step } from "./plan.js"
import { chargesOfShadow, chargesOfSteps, defaultOnStoreFailure } from "./plan.js"
import type { RuleDecision } from "./rule-decision.js"

export interface RuleReserveOptions {
  /**
   * The estimate. It takes the place of the cost of those rules that take their cost from the response; if there are none, of all
   * rules. Default: the costs that the rules name.
   */
  cost?: number
  /** How long the reservation can be settled: 1 s to 24 h. Default: 10 minutes. */
  hold?: Duration
  /** If the real cost exceeds the estimate. Default: what the rule says, else `"charge"`. */
  overdraft?: Overdraft
}

/** The decision of `reserve`. If it is allowed, it has the reservation, and until when it can be settled. */
export interface ReservedRuleDecision extends RuleDecision {
  readonly reservation?: string
  /** Milliseconds since 1970. */
  readonly settleBefore?: number
}

/** A charge in the text of a reservation. */
type SavedCharge = readonly [
  namespace: string,
  key: string,
  cost: number,
  chargedAt: number,
  /** The index of the policy. */
  policy: number,
  /** What settles it: the id of a hold is released. */
  by: Overdraft | { readonly hold: string },
]

/** What the text of a reservation holds. */
interface SavedReservation {
  /** The id of the record. */
  readonly id: string
  /** The key of the record, and the minutes for which the store keeps it. */
  readonly key: string
  readonly minutes: number
  /** Milliseconds since 1970. */
  readonly until: number
  readonly isLocal: boolean
  readonly policies: readonly SavedPolicy[]
  readonly charges: readonly SavedCharge[]
}

/** What became of a call to settle. */
export interface SettledReservation {
  /** False if it was settled before: this call changed nothing. */
  readonly isFirst: boolean
}

export const DEFAULT_HOLD = "10m"
const MIN_HOLD_MS = 1_000
const MAX_HOLD_MS = 86_400_000
const MINUTE_MS = 60_000
/** A hold must not be denied because of the number of reservations. */
const MANY = 2 ** 40
const MAC_BYTES = 16
/** Longer texts are not read. A reservation of ten limits has about 2,000 characters. */
const MAX_TEXT = 65_536
const TEXT = /^reservation_([\w-]+)\.([\w-]+)$/
const MAX_POLICIES = 1_000

export class Reservations {
  readonly #decider: Decider
  readonly #prefix: string
  readonly #secret: Buffer
  /** The policies of records, by minutes. */
  readonly #records = new Map<number, { readonly policy: Policy; readonly namespace: Namespace }>()
  readonly #policies = new Map<string, Policy>()

  constructor(decider: Decider, prefix: string, secret: string | Uint8Array | undefined) {
    this.#decider = decider
    this.#prefix = prefix
    // A key of its own: callers can see hashes that are keyed with the secret itself.
    const key = hkdfSync("sha256", secret ?? randomBytes(32), "", `sluice reservations ${prefix}`, 32)
    this.#secret = Buffer.from(key)
  }

  async reserve(planned: PlannedCheck, options: RuleReserveOptions): Promise<ReservedRuleDecision> {
    const { holdMs, overdraft } = checked(options)
    const plan = withEstimate(planned.plan, options.cost === undefined ? undefined : costOf(options.cost))
    const { charges: enforced, blocked } = chargesOfSteps(plan.enforced, this.#decider.store)
    const shadows = plan.shadows.map((step) => chargesOfShadow(step).charges)
    const lists = [enforced, ...shadows].map((list) => list.map(ofOnePlace))
    const id = newHoldId()
    const minutes = 2 ** Math.ceil(Math.log2(Math.max(holdMs / MINUTE_MS, 1)))
    // The record is decided with the first charges, because all of a list is charged or none.
    const first = lists.find((list) => list.length > 0)
    const key = first?.[0]?.key ?? ""
    if (first !== undefined) first.push({ ...this.#record(minutes), key, cost: 1, hold: id })
    const { decision, outcomes } = await this.#decider.checkLists({ ...planned, plan }, lists, blocked)
    if (!decision.allowed) return decision
    const steps = [plan.enforced, ...plan.shadows.map((step) => [step])]
    const until =
      (outcomes.find((outcome) => outcome !== undefined)?.now ?? Date.now() * 1000) / 1000 + holdMs
    const policies: Policy[] = []
    const charges = lists.flatMap((list, i) =>
      savedCharges(list, steps[i] as Step[], outcomes[i], overdraft, policies),
    )
    const saved: SavedReservation = {
      id: holdIdText(id),
      key,
      minutes,
      until: Math.floor(until),
      isLocal: outcomes.some((outcome) => outcome?.degraded === "local"),
      policies: policies.map(savePolicy),
      charges,
    }
    const { [CHARGED]: _charged, [PENDING]: _pending, [HELD]: _held, ...shown } = decision as ChargedDecision
    return { ...shown, reservation: this.#write(saved), settleBefore: saved.until }
  }

  /** Settles a reservation at its real cost. Throws RESERVATION_UNKNOWN, RESERVATION_EXPIRED or STORE_UNAVAILABLE. */
  async settle(text: string, cost: number): Promise<SettledReservation> {
    const actual = realCostOf(cost)
    const { id, key, minutes, until, isLocal, policies, charges } = this.#read(text)
    if (this.#decider.nowMs(undefined) >= until)
      throw new SluiceError("RESERVATION_EXPIRED", {
        place: "reservation",
        expected: `could be settled until ${new Date(until).toISOString()}; what it has reserved stays charged`,
      })
    const restored = policies.map((policy) => this.#policy(policy))
    const settlements = charges.flatMap(([namespace, ownKey, reserved, chargedAt, policy, by]) => {
      const hold = typeof by === "object" ? parseHoldId(by.hold) : undefined
      const charge: Charge = {
        namespace: new Namespace(namespace, this.#prefix),
        key: ownKey,
        policy: restored[policy] as Policy,
        cost: reserved,
        hold,
      }
      return settlementOf(charge, chargedAt, isLocal, actual, typeof by === "object" ? "charge" : by) ?? []
    })
    // Nothing was charged, so there is no record either.
    if (charges.length === 0) return { isFirst: true }
    const hold = parseHoldId(id)
    const claim: Settlement = { ...this.#record(minutes), key, cost: 1, hold, correction: "claim", isLocal }
    const all = [claim, ...settlements]
    const { store } = this.#decider
    const { result } = await store.settle(all, this.#decider.at(undefined), defaultOnStoreFailure(all))
    if (result === "failed")
      throw new SluiceError("STORE_UNAVAILABLE", {
        place: "reservation",
        expected: "may not be settled yet, because the store did not answer; settle it again",
      })
    // The record exists until the reservation has expired, unless somebody has settled it.
    return { isFirst: result === "settled" }
  }

  #record(minutes: number): { readonly policy: Policy; readonly namespace: Namespace } {
    return getOrAdd(this.#records, minutes, () => ({
      policy: compilePolicy(
        { algorithm: "concurrency", limit: MANY, hold: minutes * MINUTE_MS },
        "reservation",
      ),
      namespace: new Namespace(`${this.#prefix}:reservations:${minutes}m`, this.#prefix),
    }))
  }

  #policy(saved: SavedPolicy): Policy {
    return getOrCache(this.#policies, JSON.stringify(saved), MAX_POLICIES, () => restorePolicy(saved))
  }

  #write(saved: SavedReservation): string {
    const body = Buffer.from(JSON.stringify(saved))
    return `reservation_${body.toString("base64url")}.${this.#sign(body).toString("base64url")}`
  }

  #read(text: unknown): SavedReservation {
    const parts = typeof text === "string" && text.length <= MAX_TEXT ? TEXT.exec(text) : null
    if (parts !== null) {
      const body = Buffer.from(parts[1] as string, "base64url")
      const mac = Buffer.from(parts[2] as string, "base64url")
      if (mac.length === MAC_BYTES && timingSafeEqual(mac, this.#sign(body)))
        return JSON.parse(body.toString()) as SavedReservation
    }
    // The message does not show the text: whoever has it can settle the reservation.
    throw new SluiceError("RESERVATION_UNKNOWN", {
      place: "reservation",
      expected: "must be the text that reserve returned, of an instance with the same store and secret",
    })
  }

  #sign(body: Buffer): Buffer {
    return createHmac("sha256", this.#secret).update(body).digest().subarray(0, MAC_BYTES)
  }
}

function checked(options: RuleReserveOptions): { holdMs: number; overdraft: Overdraft | undefined } {
  checkFields(options, ["cost", "hold", "overdraft"], "reserve")
  checkOneOf(options.overdraft, ["charge", "forgive"], "reserve.overdraft")
  const holdMs = parseDuration(options.hold ?? DEFAULT_HOLD, "reserve.hold")
  if (holdMs < MIN_HOLD_MS || holdMs > MAX_HOLD_MS) {
    throw new SluiceError("DURATION_INVALID", {
      place: "reserve.hold",
      expected: "must be from 1s to 24h",
      found: options.hold,
    })
  }
  return { holdMs, overdraft: options.overdraft }
}

/** Whether a rule takes its cost from the response. */
function readsCost({ rule }: Step): boolean {
  const { header, fields } = rule.responseCharge ?? {}
  return header !== undefined || (fields?.size ?? 0) > 0
}

/** Whether settling a reservation changes what a step was charged. `all` are the steps of the plan. */
function isSettled(step: Step, all: readonly Step[]): boolean {
  return readsCost(step) || !all.some(readsCost)
}

function withEstimate(plan: Plan, cost: number | undefined): Plan {
  if (cost === undefined) return plan
  const all = [...plan.enforced, ...plan.shadows]
  const priced = (step: Step): Step => {
    // A descriptor with a limit of 0 allows no cost.
    if (step.cost === Number.MAX_SAFE_INTEGER || !isSettled(step, all)) return step
    return { ...step, cost }
  }
  return { ...plan, enforced: plan.enforced.map(priced), shadows: plan.shadows.map(priced) }
}

/** A limit of concurrency holds one place for a request, whatever the request costs. */
function ofOnePlace(charge: Charge): Charge {
  return charge.hold === undefined ? charge : { ...charge, cost: 1 }
}

/** What settling must know of the charges of some steps. Empty if they were not charged. */
function savedCharges(
  list: readonly Charge[],
  steps: readonly Step[],
  outcome: Outcome | undefined,
  overdraft: Overdraft | undefined,
  policies: Policy[],
): SavedCharge[] {
  if (outcome?.allowed !== true || outcome.degraded === "allow") return []
  const saved: SavedCharge[] = []
  let index = 0
  for (const step of steps) {
    for (const _ of step.limits) {
      const charge = list[index] as Charge
      const chargedAt = timeOfCharge(outcome, index++)
      const by = settledBy(charge, step, steps, overdraft)
      if (by === undefined) continue
      let policy = policies.indexOf(charge.policy)
      if (policy < 0) policy = policies.push(charge.policy) - 1
      saved.push([charge.namespace.name, charge.key, charge.cost, chargedAt, policy, by])
    }
  }
  return saved
}

/** Undefined if settling leaves the charge alone. */
function settledBy(
  { hold, policy }: Charge,
  step: Step,
  all: readonly Step[],
  overdraft: Overdraft | undefined,
): SavedCharge[5] | undefined {
  if (hold !== undefined) return { hold: holdIdText(hold) }
  if (isConcurrency(policy) || !isSettled(step, all)) return undefined
  const { cost } = step.rule.spec
  return overdraft ?? (typeof cost === "object" ? cost.overdraft : undefined) ?? "charge"
}
