import type { RuleSetDocument, RuleSetRevision, RuleSpec } from "sluice/rules"

export function rule(id: string, limit = 10): RuleSpec {
  return { id, limits: [{ limit, window: "1m" }] }
}

export function setOf(...rules: RuleSpec[]): RuleSetDocument {
  return { version: 1, rules }
}

/** A set with one rule that has this limit: `limitOf` reads it back. */
export function setWith(limit: number): RuleSetDocument {
  return setOf(rule("login", limit))
}

export function limitOf({ document }: Pick<RuleSetRevision, "document">): number | undefined {
  const limits = document.rules[0]?.limits
  return limits === undefined || limits === "unlimited" ? undefined : limits[0]?.limit
}
