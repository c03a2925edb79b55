import { memoryStore } from "sluice"
import { createRuleEngine, parseRuleSet, type RuleEngine } from "sluice/rules"
import { nameOf, readInput } from "./input.js"

/** Rules of a file, decided here and in memory: nobody else's counters are touched. */
export async function openLocalEngine(path: string, stdin: NodeJS.ReadStream): Promise<RuleEngine> {
  const rules = parseRuleSet(await readInput(path, stdin), { name: nameOf(path) })
  return createRuleEngine({ rules, store: memoryStore() })
}

/** As the service writes it: JSON has no infinity. */
export function decisionForJson(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, found: unknown) => {
      if (found !== Number.POSITIVE_INFINITY) return found
      return name === "limit" || name === "remaining" ? null : "never"
    }),
  )
}
