import type { ComponentChildren } from "preact"
import { memo } from "preact/compat"
import { tokensOf } from "../../yaml/tokens.js"

/** Above this, a new drawing at every key would be felt: 50 KB are about 10,000 tokens. */
const LONGEST = 50_000

/** The text in colours, character for character: it lies behind the one that is typed in. */
export const Highlight = memo(function Highlight({ text }: { readonly text: string }) {
  if (text.length > LONGEST) return <>{`${text}\n`}</>
  const parts: ComponentChildren[] = []
  let at = 0
  for (const { kind, start, end } of tokensOf(text)) {
    if (start > at) parts.push(text.slice(at, start))
    parts.push(<span class={`yaml-${kind}`}>{text.slice(start, end)}</span>)
    at = end
  }
  parts.push(`${text.slice(at)}\n`)
  return <>{parts}</>
})
