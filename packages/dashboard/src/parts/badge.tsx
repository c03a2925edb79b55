import type { ComponentChildren } from "preact"

export type BadgeKind = "allowed" | "denied" | "shadow" | "degraded" | "neutral"

/** A word on a coloured background. The word alone must be clear, because not everybody sees the colour. */
export function Badge({
  kind = "neutral",
  children,
}: {
  readonly kind?: BadgeKind
  readonly children: ComponentChildren
}) {
  return <span class={`badge ${kind}`}>{children}</span>
}
