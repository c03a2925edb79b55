// Unsaved changes. They stay while the user visits other pages of the dashboard.

import { useEffect } from "preact/hooks"

const drafts = new Map<string, unknown>()

/** The stored draft of this name. */
export function keptDraft<Draft>(name: string): Draft | undefined {
  return drafts.get(name) as Draft | undefined
}

/** Stores a draft, or removes it if it is undefined. While there is a draft, closing the page asks for confirmation. */
export function useKeptDraft(name: string, draft: unknown): void {
  useEffect(() => {
    if (draft === undefined) drafts.delete(name)
    else drafts.set(name, draft)
  })
}

export function hasDraft(name: string): boolean {
  return drafts.has(name)
}

addEventListener("beforeunload", (event) => {
  if (drafts.size > 0) event.preventDefault()
})
