import { describe, expect, it } from "vitest"
import { restorePolicy, savePolicy } from "../policy.js"
import { compactCounter } from "../stores/memory/compact-counter.js"
import { watch } from "./admission.test-support.js"
import type { Verdict } from "./algorithm.js"
import { Key } from "./key.test-support.js"
import { equalVerdicts, laws } from "./laws.test-support.js"
import { bucketModel } from "./model/bucket.test-support.js"
import { concurrencyModel } from "./model/concurrency.test-support.js"
import { fixedWindowModel } from "./model/fixed-window.test-support.js"
import { gcraModel } from "./model/gcra.test-support.js"
import type { Model } from "./model/model.test-support.js"
import { ModelKey, termsOf } from "./model/model.test-support.js"
import { slidingWindowCounterModel } from "./model/sliding-window-counter.test-support.js"
import { slidingWindowLogModel } from "./model/sliding-window-log.test-support.js"
import { expectProperty, isReplay, printSeed } from "./replay.test-support.js"
import type { Scenario, Shape } from "./scenario.test-support.js"
import { play, scenarios, showScenario } from "./scenario.test-support.js"

interface Subject extends Shape {
  readonly title: string
  readonly compare: (scenario: Scenario) => number
}

const subjects: Subject[] = [
  { title: "fixed-window", algorithm: "fixed-window", compare: comparedWith(fixedWindowModel) },
  {
    title: "fixed-window from the first request",
    algorithm: "fixed-window",
    options: { anchor: "first-request" },
    compare: comparedWith(fixedWindowModel),
  },
  {
    title: "fixed-window of a calendar",
    algorithm: "fixed-window",
    calendar: true,
    compare: comparedWith(fixedWindowModel),
  },
  {
    title: "sliding-window-log",
    algorithm: "sliding-window-log",
    compare: comparedWith(slidingWindowLogModel),
  },
  {
    title: "sliding-window-counter",
    algorithm: "sliding-window-counter",
    compare: comparedWith(slidingWindowCounterModel),
  },
  {
    title: "sliding-window-counter in buckets",
    algorithm: "sliding-window-counter",
    buckets: 12,
    compare: comparedWith(slidingWindowCounterModel),
  },
  {
    title: "sliding-window-counter on three cells",
    algorithm: "sliding-window-counter",
    // Counts stop at 2^26, so that limits near it would differ from the model while far above the limit.
    twin: { algorithm: compactCounter, maxUnits: 2 ** 21 },
    compare: comparedWith(slidingWindowCounterModel),
  },
  { title: "token-bucket", algorithm: "token-bucket", compare: comparedWith(bucketModel) },
  { title: "leaky-bucket", algorithm: "leaky-bucket", compare: comparedWith(bucketModel) },
  {
    title: "leaky-bucket as a queue",
    algorithm: "leaky-bucket",
    options: { overflow: "queue" },
    compare: comparedWith(bucketModel),
  },
  { title: "gcra", algorithm: "gcra", compare: comparedWith(bucketModel) },
  { title: "concurrency", algorithm: "concurrency", compare: comparedWith(concurrencyModel) },
]

const RUNS_PER_MODEL = 200
const RUNS_PER_LAW = 80
/** A second is usual; a busy machine may take many. */
const PATIENCE = { timeout: 120_000 }
let steps = 0

printSeed()

describe.each(subjects.map((subject) => [subject.title, subject] as const))(
  "%s",
  PATIENCE,
  (_title, subject) => {
    it("answers as the model does", () => {
      holdsFor(subject, RUNS_PER_MODEL, subject.compare)
    })

    it("admits no more in any span of time than it promises", () => {
      holdsFor(subject, RUNS_PER_LAW, watch)
    })

    it.each(Object.keys(laws))("%s", (name) => {
      const law = laws[name] as (typeof laws)[string]
      holdsFor(subject, RUNS_PER_LAW, (scenario) => play(scenario, law))
    })
  },
)

describe("one machine under three names", PATIENCE, () => {
  it("gcra decides as a token bucket of one unit more than its burst", () => {
    holdsFor({ algorithm: "gcra" }, RUNS_PER_MODEL, comparedWithPolicy("token-bucket"))
  })

  it("gcra decides by the theoretical arrival time", () => {
    holdsFor({ algorithm: "gcra" }, RUNS_PER_MODEL, (scenario) => {
      return comparedWith(gcraModel)({ ...scenario, policies: scenario.policies.slice(0, 1) })
    })
  })

  it("leaky-bucket that rejects decides as a token bucket", () => {
    holdsFor({ algorithm: "leaky-bucket" }, RUNS_PER_MODEL, comparedWithPolicy("token-bucket"))
  })
})

describe("the run", () => {
  it("generates at least 100,000 steps", () => {
    if (!isReplay) expect(steps).toBeGreaterThanOrEqual(100_000)
  })
})

function holdsFor(shape: Shape, runs: number, holds: (scenario: Scenario) => number): void {
  expectProperty(
    scenarios(shape),
    runs,
    (scenario) => {
      steps += holds(scenario)
    },
    showScenario,
  )
}

/** Every answer, and what is counted, the same as the model's. */
function comparedWith<State>(model: Model<State>) {
  return (scenario: Scenario): number => {
    const modelled = new ModelKey(model)
    return play(scenario, (key, { act, cost, now, verdict }) => {
      const terms = termsOf(key.policy)
      const [units, time] = [BigInt(cost), BigInt(now)]
      if (act === "refund") modelled.refund(terms, units, time)
      if (act === "charge") modelled.charge(terms, units, time)
      equalVerdicts(verdict, modelled.decide(terms, act === "check" ? units : 0n, time), "by the model")
      // Stores settle a state kept in other terms, also when they deny.
      if (act === "check" && cost > 0 && verdict.allowed) modelled.charge(terms, units, time)
      else if (act === "check" && cost > 0 && verdict.stale) modelled.charge(terms, 0n, time)
      expectUsed(key, now, modelled.used(terms, time))
    })
  }
}

function expectUsed(key: Key, now: number, expected: number): void {
  if (key.used(now) !== expected) throw new Error(`used: expected ${expected}, found ${key.used(now)}`)
}

/** Every answer the same as that of another algorithm with the same numbers. */
function comparedWithPolicy(algorithm: "token-bucket") {
  return (scenario: Scenario): number => {
    let other: Key | undefined
    return play(scenario, (key, { act, cost, now, verdict }) => {
      const policy = restorePolicy({ ...savePolicy(key.policy), algorithm })
      other ??= new Key(policy)
      other.policy = policy
      let answer: Verdict
      if (act === "refund") other.refund(cost, now)
      if (act === "charge") other.charge(cost, now)
      if (act === "check") answer = other.check(cost, now)
      else answer = other.decide(0, now)
      equalVerdicts(verdict, answer, `by ${algorithm}`)
    })
  }
}
