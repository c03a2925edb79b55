import type { ComponentChildren } from "preact"

export type BadgeKind = "allowed" | "denied" | "shadow" | "degraded" | "neutral"

/** A word in a colour. The word says it; the colour only helps to find it. */
export function Badge({
  kind = "neutral",
  children,
}: {
  readonly kind?: BadgeKind
  readonly children: ComponentChildren
}) {
  return <span class={`badge ${kind}`}>{children}</span>
}
