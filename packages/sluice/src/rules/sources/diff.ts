import { checkList, checkObject } from "../../options.js"
import type { RuleSetDocument } from "../language/schema.js"

/** The differences between two rule sets. */
export interface RuleSetChanges {
  /** Ids of rules. */
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
  /** The other parts that differ, such as `defaults` or `deny`; `rules` when rules changed places. */
  readonly sections: readonly string[]
}

/** The differences from one rule set to the next. Without `before`, all rules are added. */
export function diffRuleSets(before: RuleSetDocument | undefined, after: RuleSetDocument): RuleSetChanges {
  if (before !== undefined) checkRuleList(before, "before")
  checkRuleList(after, "after")
  const old = new Map(before?.rules.map((rule) => [rule.id, rule]))
  const ids = new Set(after.rules.map((rule) => rule.id))
  const stayed = after.rules.filter((rule) => old.has(rule.id))
  const removed = [...old.keys()].filter((id) => !ids.has(id))
  const orderBefore = [...old.keys()].filter((id) => ids.has(id))
  const moved = stayed.some((rule, i) => rule.id !== orderBefore[i])
  return {
    added: after.rules.filter((rule) => !old.has(rule.id)).map((rule) => rule.id),
    removed,
    changed: stayed.filter((rule) => !isSame(old.get(rule.id), rule)).map((rule) => rule.id),
    sections: [...otherSections(before, after), ...(moved ? ["rules"] : [])],
  }
}

function checkRuleList(set: RuleSetDocument, name: string): void {
  checkObject(set, `diffRuleSets.${name}`)
  checkList(set.rules, `diffRuleSets.${name}.rules`)
  for (const [i, rule] of set.rules.entries()) checkObject(rule, `diffRuleSets.${name}.rules[${i}]`)
}

function otherSections(before: RuleSetDocument | undefined, after: RuleSetDocument): string[] {
  const [old, now] = [before ?? {}, after] as Record<string, unknown>[]
  const names = new Set([...Object.keys(old ?? {}), ...Object.keys(after)])
  names.delete("rules")
  return [...names].filter((name) => !isSame(old?.[name], now?.[name]))
}

/** Whether two values are equal as JSON. The order of fields does not matter. */
function isSame(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false
    return a.every((item, i) => isSame(item, b[i]))
  }
  const [fields, others] = [a, b] as Record<string, unknown>[] as [Fields, Fields]
  const isThere = (own: Fields) => (name: string) => own[name] !== undefined
  const names = Object.keys(fields).filter(isThere(fields))
  if (names.length !== Object.keys(others).filter(isThere(others)).length) return false
  return names.every((name) => isSame(fields[name], others[name]))
}

type Fields = Readonly<Record<string, unknown>>
