import type { RuleDecision } from "sluice/rules"
import { createRuleEngine } from "sluice/rules"
import { ManualClock } from "sluice/testing"
import type { Decided } from "../core.js"

/** An engine whose clock stands still, and its decisions as watchers are told of them. */
export function deciding(rules: string, clock = new ManualClock()) {
  const engine = createRuleEngine({ rules, clock })
  return {
    clock,
    engine,
    decide: (request: Parameters<typeof engine.checkSync>[0], durationMs = 0.02): Decided => ({
      decision: engine.checkSync(request),
      protocol: "http",
      request,
      durationMs,
    }),
  }
}

/** A decision that was made without the store. */
export function degraded(event: Decided): Decided {
  return { ...event, decision: { ...event.decision, degraded: "local" } as RuleDecision }
}

/** The value of a metric with these labels, in the order they are written. */
export function metric(text: string, name: string): number | undefined {
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}
