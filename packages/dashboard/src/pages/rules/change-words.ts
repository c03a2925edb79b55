import type { RuleSetChanges } from "sluice/rules"
import { t } from "../../i18n.js"
import { texts } from "./texts.js"

/** Names listed at most: a change of a thousand rules is not read name by name. */
const MOST_NAMES = 4

/** What a change changed, in words: `changed api · removed login`. */
export function changeWords(changes: RuleSetChanges): string {
  const words = t(texts).changes
  const parts = (["added", "changed", "removed", "sections"] as const).flatMap((kind) => {
    const names = changes[kind].filter((name) => name !== "version")
    if (names.length === 0) return []
    const rest = names.length - MOST_NAMES
    return [words[kind](names.slice(0, MOST_NAMES).join(", ") + (rest > 0 ? words.and(rest) : ""))]
  })
  return parts.join(" · ")
}
