import type { RuleSetDocument } from "../language/schema.js"
import type { EditableRuleSource, RuleSetRevision } from "./source.js"

type Rule = RuleSetDocument["rules"][number]

export function rule(id: string, limit = 10): Rule {
  return { id, limits: [{ limit, window: "1m" }] }
}

/** A small set that says how the one under test differs from another. */
export function setOf(...rules: Rule[]): RuleSetDocument {
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

/** Writes down every revision that a source tells of. */
export function listen(source: EditableRuleSource): number[] {
  const heard: number[] = []
  source.subscribe(({ revision }) => heard.push(revision))
  return heard
}
