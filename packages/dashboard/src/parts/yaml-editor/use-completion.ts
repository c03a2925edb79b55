import { useState } from "preact/hooks"
import { type Completion, complete, type Hints } from "../../yaml/completion.js"
import type { SchemaReader } from "../../yaml/schema.js"

export interface OpenCompletion extends Completion {
  readonly chosen: number
}

export interface CompletionOptions {
  readonly schema: SchemaReader | undefined
  readonly hints: Hints | undefined
}

/** Which suggestions are shown, and which of them is chosen. */
export function useCompletion({ schema, hints }: CompletionOptions) {
  const [open, setOpen] = useState<OpenCompletion | undefined>()

  /** Without being asked for, only where something is begun: a list under every empty line would be in the way. */
  const offer = (text: string, cursor: number, isAskedFor: boolean) => {
    const found = schema && complete(text, cursor, schema, hints)
    const isBegun =
      found !== undefined &&
      (found.start < cursor || (/: ?$/.test(text.slice(0, cursor)) && found.suggestions[0]?.kind === "value"))
    setOpen(found !== undefined && (isBegun || isAskedFor) ? { ...found, chosen: 0 } : undefined)
  }

  const move = (by: number) => {
    setOpen((now) => {
      if (now === undefined) return now
      const count = now.suggestions.length
      return { ...now, chosen: (now.chosen + by + count) % count }
    })
  }

  return { open, offer, move, close: () => setOpen(undefined) }
}
