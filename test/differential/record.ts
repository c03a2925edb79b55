// Plays a scenario on the memory store and writes down what it came to: a trace that another store can be given, and the
// answers it must give.

import { memoryStore, type Outcome } from "sluice"
import type { Policy, Verdict } from "../../packages/sluice/src/algorithms/algorithm.js"
import { blockPolicy } from "../../packages/sluice/src/algorithms/block.js"
import { costOf, LATEST, timeAfter } from "../../packages/sluice/src/algorithms/scenario.test-support.js"
import { type Answer, Counters, call, describe } from "./play.js"
import type { Part, Scenario, Step } from "./scenario.js"
import type { Call, Trace, TraceCharge, TraceStep } from "./trace.js"

export interface Recording {
  readonly trace: Trace
  readonly answers: readonly Answer[]
}

/**
 * The memory store sweeps expired keys when a new one comes in its namespace; Redis drops them by real time. A clock that then
 * steps back finds a state in one and none in the other, which is allowed. Here the store's own clock stands at 0, and where
 * a namespace has several keys all of them come at the start and stay, so that neither happens and all answers must agree.
 */
export function forgetful() {
  return memoryStore({ clock: { now: () => 0 } })
}

export async function record(scenario: Scenario): Promise<Recording> {
  const recorder = new Recorder(scenario)
  await recorder.begin()
  for (const step of scenario.steps) await recorder.take(step)
  return recorder
}

/** Charging without asking has no bound of its own, but a log counts modulo 2^52. */
const MAX_CHARGED = 2 ** 40

function bounded([counter, policy, cost]: TraceCharge): TraceCharge {
  return [counter, policy, Math.min(cost, MAX_CHARGED)]
}

class Recorder implements Recording {
  readonly answers: Answer[] = []
  readonly #scenario: Scenario
  readonly #steps: TraceStep[] = []
  readonly #policies: Policy[] = [blockPolicy]
  /** Which policy of its list each counter has now. */
  readonly #versions: number[]
  readonly #store = forgetful()
  readonly #counters = new Counters("recorded")
  #now: number
  #last: Verdict[] = []

  constructor(scenario: Scenario) {
    this.#scenario = scenario
    this.#now = scenario.start
    this.#policies.push(...scenario.counters.flat())
    this.#versions = scenario.counters.map(() => 0)
  }

  get trace(): Trace {
    const { manner } = this.#scenario
    return { about: "", manner, policies: this.#policies, steps: this.#steps }
  }

  async begin(): Promise<void> {
    const { counters, keys } = this.#scenario
    if (keys === 1) return
    for (let counter = 0; counter < counters.length; counter++) {
      for (let key = 0; key < keys; key++) {
        await this.#call("charge", [[`counter${counter}/key${key}`, this.#policyIndex(counter), 1]])
      }
    }
  }

  async take(step: Step): Promise<void> {
    const { blocks, keys } = this.#scenario
    const first = step.parts[0] as Part
    this.#now = Math.min(Math.max(0, this.#next(step, this.#policyOf(this.#counterOf(first)))), LATEST)
    const charges = step.parts.map((part) => this.#charge(part, step.far))
    let { act } = step
    if ((act === "block" && !blocks) || (act === "reset" && keys > 1)) act = "check"
    switch (act) {
      case "check":
      case "decide":
        for (let i = 0; i <= step.repeats; i++) await this.#call(act, [...charges, ...this.#block()])
        return
      case "change":
        this.#change(this.#counterOf(first))
        break
      case "block":
        await this.#call("charge", [["block", 0, 1 + step.far * 1_000]])
        break
      case "charge":
        await this.#call("charge", charges.map(bounded))
        break
      case "refund":
        await this.#call("refund", step.far % 2 === 0 ? charges : this.#chargedEarlier(charges, step.far))
        break
      default:
        await this.#call(act, charges)
    }
    // The result.
    await this.#call("check", this.#looks(charges))
  }

  /** The same refunds, of what was charged at the time of one of the last steps. */
  #chargedEarlier(charges: readonly TraceCharge[], far: number): TraceCharge[] {
    const chargedAt = this.#steps.at(-1 - (far % 8))?.at ?? this.#now
    return charges.map(([name, policy, cost]) => [name, policy, cost, chargedAt])
  }

  #block(): TraceCharge[] {
    return this.#scenario.blocks ? [["block", 0, 0]] : []
  }

  async #call(name: Call, charges: readonly TraceCharge[]): Promise<void> {
    const step = { call: name, at: this.#now, charges }
    this.#steps.push(step)
    const asked = this.#counters.charges(this.#policies, charges)
    if (name !== "check" && name !== "decide") {
      this.answers.push(await call(this.#store, step, asked))
      return
    }
    const outcome: Outcome = await this.#store[name](asked, this.#now)
    this.#last = outcome.verdicts.map((verdict) => ({ ...verdict }))
    this.answers.push(describe(outcome))
  }

  #counterOf(part: Part): number {
    return part.counter % this.#scenario.counters.length
  }

  #policyIndex(counter: number): number {
    const before = this.#scenario.counters.slice(0, counter).reduce((sum, list) => sum + list.length, 1)
    const list = this.#scenario.counters[counter] as readonly Policy[]
    return before + ((this.#versions[counter] as number) % list.length)
  }

  #policyOf(counter: number): Policy {
    return this.#policies[this.#policyIndex(counter)] as Policy
  }

  #change(counter: number): void {
    this.#versions[counter] = (this.#versions[counter] as number) + 1
  }

  #nameOf(part: Part): string {
    return `counter${this.#counterOf(part)}/key${part.key % this.#scenario.keys}`
  }

  #charge(part: Part, far: number): TraceCharge {
    const counter = this.#counterOf(part)
    const { capacity } = this.#policyOf(counter)
    return [this.#nameOf(part), this.#policyIndex(counter), this.#costOf(part, capacity, far)]
  }

  #looks(charges: readonly TraceCharge[]): TraceCharge[] {
    const names = [...new Set(charges.map(([name]) => name))]
    const looks = names.map((name): TraceCharge => {
      return [name, this.#policyIndex(Number(/\d+/.exec(name)?.[0])), 0]
    })
    return [...looks, ...this.#block()]
  }

  #costOf(part: Part, capacity: number, far: number): number {
    const { cost, more } = part
    if (cost === "huge") return [2 ** 31, 2 ** 52, Number.MAX_SAFE_INTEGER][more] as number
    return costOf({ cost, more }, far, capacity, () => this.#remaining(part))
  }

  /** What would just fit now. */
  #remaining(part: Part): number {
    const look: TraceCharge = [this.#nameOf(part), this.#policyIndex(this.#counterOf(part)), 0]
    const { verdicts } = this.#store.checkSync(this.#counters.charges(this.#policies, [look]), this.#now)
    return verdicts[0]?.remaining ?? 0
  }

  #next(step: Step, policy: Policy): number {
    const waits = this.#last.map(({ retryAfter }) => retryAfter).filter(Number.isFinite)
    return timeAfter(step, this.#now, policy, {
      retryAfter: Math.max(0, ...waits),
      resetAfter: Math.max(0, ...this.#last.map(({ resetAfter }) => resetAfter)),
    })
  }
}
