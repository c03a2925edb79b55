import { useEffect, useRef } from "preact/hooks"
import { t } from "../../i18n.js"
import type { Suggestion } from "../../yaml/completion.js"
import { texts } from "./texts.js"

export interface SuggestionsProps {
  readonly id: string
  readonly suggestions: readonly Suggestion[]
  readonly chosen: number
  /** Where the cursor is, in pixels from the corner of the editor. */
  readonly at: { readonly left: number; readonly top: number }
  readonly onChoose: (index: number) => void
}

/** The list below the cursor. The focus stays in the text; it names the chosen one by `aria-activedescendant`. */
export function Suggestions({ id, suggestions, chosen, at, onChoose }: SuggestionsProps) {
  const list = useRef<HTMLDivElement>(null)
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" })
  }, [chosen])
  const place = (element: HTMLElement | null) => {
    element?.style.setProperty("--left", `${at.left}px`)
    element?.style.setProperty("--top", `${at.top}px`)
  }
  return (
    <div class="suggestions" ref={place}>
      <div id={id} ref={list} class="suggestion-list" role="listbox" aria-label={t(texts).suggestions}>
        {suggestions.map(({ label, about, kind }, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled where the focus is, in the text
          <div
            key={`${kind} ${label}`}
            id={`${id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === chosen}
            // A click must not take the focus from the text.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => onChoose(i)}
          >
            <span class={kind === "field" ? "yaml-key" : "yaml-text"}>{label}</span>
            {about !== undefined && <span class="about">{about}</span>}
          </div>
        ))}
      </div>
    </div>
  )
}
