// What was typed and not saved, for as long as the page is open: who looks something up on another page finds it again.

import { useEffect } from "preact/hooks"

const drafts = new Map<string, unknown>()

/** The draft that was kept under a name, if there is one. */
export function keptDraft<Draft>(name: string): Draft | undefined {
  return drafts.get(name) as Draft | undefined
}

/** Keeps a draft, or forgets it when there is none. Closing the page asks first as long as there is. */
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
