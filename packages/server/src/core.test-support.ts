import { memoryStore, type Store } from "sluice"
import {
  createRuleEngine,
  type EditableRuleSource,
  objectRules,
  parseRuleSet,
  type RuleEngineOptions,
} from "sluice/rules"
import { ManualClock } from "sluice/testing"
import type { Core, Decided } from "./core.js"

export interface TestCore extends Core {
  readonly clock: ManualClock
  /** What those who watch were told. */
  readonly decided: readonly Decided[]
  close(): Promise<void>
}

/** A core with these rules, on a memory store and a clock to advance unless the options say otherwise. */
export function testCore(
  rules: string | EditableRuleSource,
  options: Partial<Omit<RuleEngineOptions, "rules">> = {},
): TestCore {
  const clock = new ManualClock()
  const store = options.store ?? memoryStore({ clock })
  const source = typeof rules === "string" ? objectRules(parseRuleSet(rules), { clock }) : rules
  const engine = createRuleEngine({ clock, secret: "for tests", ...options, rules: source, store })
  const decided: Decided[] = []
  return {
    engine,
    rules: source,
    store,
    // A copy: what is told of may be written over by the next.
    watch: {
      decided: (event) => void decided.push({ ...event, decision: structuredClone(event.decision) }),
    },
    clock,
    decided,
    async close() {
      await engine.close()
      await store.close()
    },
  }
}

/** A store that has to be waited for, as Redis has, with its counters in memory. Time is as the engine says it. */
export function waitingStore(): Store {
  const store: Store = memoryStore()
  return {
    check: (...args) => store.check(...args),
    decide: (...args) => store.decide(...args),
    checkMany: (...args) => store.checkMany(...args),
    charge: (...args) => store.charge(...args),
    settle: (...args) => store.settle(...args),
    refund: (...args) => store.refund(...args),
    release: async (...args) => (await store.release?.(...args)) ?? false,
    extend: async (...args) => (await store.extend?.(...args)) ?? false,
    reset: (...args) => store.reset(...args),
    mayBlock: (namespace) => store.mayBlock(namespace),
    close: () => store.close(),
  }
}
