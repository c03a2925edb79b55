import type { ComponentChildren } from "preact"
import { useId } from "preact/hooks"

export interface SectionProps {
  readonly title: string
  readonly hint?: string
  /** Fields side by side, where there is room. */
  readonly columns?: 2 | 3
  readonly children: ComponentChildren
}

/** A part of the form: what it is about at the left, its fields at the right. */
export function Section({ title, hint, columns, children }: SectionProps) {
  const heading = useId()
  return (
    <section class="rules-section" aria-labelledby={heading}>
      <div>
        <h2 id={heading}>{title}</h2>
        {hint !== undefined && <p class="soft">{hint}</p>}
      </div>
      <div class={`rules-fields ${columns ? "columns" : ""} ${columns === 3 ? "three" : ""}`}>{children}</div>
    </section>
  )
}
