import { useEffect } from "preact/hooks"
import type { RuleSetDocument } from "sluice/rules"
import { onEvent } from "../../live.js"
import { type Asked, useAsked } from "../../use-asked.js"

/** The rules in force, asked for again whenever they change. */
export function useRules(): Asked<RuleSetDocument> {
  const asked = useAsked<RuleSetDocument>("rules")
  const { reload } = asked
  useEffect(() => onEvent("rules", reload), [reload])
  return asked
}

/** The number in an etag, `"7-0123456789abcdef"`. */
export function revisionOf(etag: string | undefined): string {
  return /^"(\d+)-/.exec(etag ?? "")?.[1] ?? "?"
}
