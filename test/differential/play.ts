import type { Charge, Outcome, Store } from "sluice"
import type { Policy } from "../../packages/sluice/src/algorithms/algorithm.js"
import { Namespace } from "../../packages/sluice/src/stores/store.js"
import type { Trace, TraceCharge, TraceStep } from "./trace.js"

/** What a call answered, as text: every field of every verdict, or nothing for a call without an answer. */
export type Answer = string | undefined

/** The counters of a trace on one store, under unique names. */
export class Counters {
  readonly #name: string
  readonly #namespaces = new Map<string, Namespace>()

  constructor(name: string) {
    this.#name = name
  }

  charges(policies: readonly Policy[], charges: readonly TraceCharge[]): Charge[] {
    return charges.map(([counter, policy, cost, chargedAt]) => {
      const [name = "", key = "key"] = counter.split("/")
      let namespace = this.#namespaces.get(name)
      if (namespace === undefined) {
        namespace = new Namespace(`${this.#name}:${name}`)
        this.#namespaces.set(name, namespace)
      }
      return { namespace, key, policy: policies[policy] as Policy, cost, chargedAt }
    })
  }
}

export async function call(store: Store, step: TraceStep, charges: readonly Charge[]): Promise<Answer> {
  switch (step.call) {
    case "check":
      return describe(await store.check(charges, step.at))
    case "decide":
      return describe(await store.decide(charges, step.at))
    case "charge":
      return void (await store.charge(charges, step.at))
    case "refund":
      return void (await store.refund(charges, step.at))
    case "reset":
      return void (await store.reset(charges))
  }
}

/** Plays a trace on a store in the trace's manner. One answer per step. */
export async function play(store: Store, trace: Trace, name: string): Promise<Answer[]> {
  const counters = new Counters(name)
  const answers: Promise<Answer>[] = []
  const { manner, policies, steps } = trace
  for (let i = 0; i < steps.length; i++) {
    const step = steps[i] as TraceStep
    const charges = counters.charges(policies, step.charges)
    if ((manner === "many" || manner === "bursts") && step.call === "check") {
      const end = endOfChecks(steps, i, manner === "bursts")
      const checks = steps.slice(i, end).map((check) => ({
        charges: counters.charges(policies, check.charges),
        at: check.at,
      }))
      const outcomes = await store.checkMany(checks)
      answers.push(...outcomes.map(async (outcome) => describe(outcome)))
      i = end - 1
      continue
    }
    // A reset is a command of its own: it does not wait for its turn among the checks of the tick.
    if (step.call === "reset") await Promise.all(answers)
    const answer = call(store, step, charges)
    answers.push(answer)
    if (manner !== "together" || step.call === "reset") await answer
  }
  return Promise.all(answers)
}

function endOfChecks(steps: readonly TraceStep[], start: number, sameTime: boolean): number {
  const at = steps[start]?.at
  let end = start
  while (steps[end]?.call === "check" && (!sameTime || steps[end]?.at === at)) end++
  return end
}

/** `stale` is not for callers. */
export function describe({ allowed, now, verdicts, degraded }: Outcome): string {
  const each = verdicts.map(({ allowed, remaining, retryAfter, resetAfter, delay }) => {
    return `${allowed ? "yes" : "no"} remaining ${remaining} retry ${retryAfter} reset ${resetAfter} delay ${delay}`
  })
  return `${allowed ? "allowed" : "denied"} at ${now}${degraded === undefined ? "" : ` ${degraded}`}: ${each.join(" | ")}`
}
