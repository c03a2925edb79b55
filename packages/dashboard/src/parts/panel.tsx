import type { ComponentChildren } from "preact"
import { useId } from "preact/hooks"

export interface PanelProps {
  readonly title: string
  /** A short text beside the title. */
  readonly note?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly children: ComponentChildren
}

/** A section of a page with a heading. */
export function Panel({ title, note, actions, children }: PanelProps) {
  const heading = useId()
  return (
    <section class="panel" aria-labelledby={heading}>
      <header>
        <h2 id={heading}>{title}</h2>
        {note && <span class="note">{note}</span>}
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  )
}

/** The heading of a page, with its actions. */
export function PageHead({
  title,
  lead,
  children,
}: {
  readonly title: string
  readonly lead?: string
  readonly children?: ComponentChildren
}) {
  return (
    <header class="page-head">
      <div>
        <h1>{title}</h1>
        {lead && <p class="lead">{lead}</p>}
      </div>
      {children && <div class="actions">{children}</div>}
    </header>
  )
}
