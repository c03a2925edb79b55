import type { RuleSetChanges } from "sluice/rules"
import { t } from "../browser/i18n.js"
import { texts } from "./texts.js"

/** Names listed at most: a change of a thousand rules is not read name by name. */
const MAX_NAMES = 4

/** What a change changed, in words: `changed api · removed login`. */
export function changeWords(changes: RuleSetChanges): string {
  const words = t(texts).changes
  const parts = (["added", "changed", "removed", "sections"] as const).flatMap((kind) => {
    const names = changes[kind].filter((name) => name !== "version")
    if (names.length === 0) return []
    const rest = names.length - MAX_NAMES
    return [words[kind](names.slice(0, MAX_NAMES).join(", ") + (rest > 0 ? words.and(rest) : ""))]
  })
  return parts.join(" · ")
}

/** The number in an etag, `"7-0123456789abcdef"`. */
export function revisionOf(etag: string | undefined): string {
  return /^"(\d+)-/.exec(etag ?? "")?.[1] ?? "?"
}
