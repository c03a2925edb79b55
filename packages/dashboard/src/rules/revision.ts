import type { RuleSetChanges } from "sluice/rules"
import { t } from "../browser/i18n.js"
import { texts } from "./texts.js"

/** At most this many names are listed, because nobody reads a thousand. */
const MAX_NAMES = 4

/** The changes in words: `changed api · removed login`. */
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

/** The revision in an etag: `7` in `"7-0123456789abcdef"`. */
export function revisionOf(etag: string | undefined): string {
  return /^"(\d+)-/.exec(etag ?? "")?.[1] ?? "?"
}
