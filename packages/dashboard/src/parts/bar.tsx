export interface BarProps {
  readonly value: number
  readonly max: number
  readonly kind: "allowed" | "denied" | "degraded" | "accent"
  /** The value in words. Without a label, the numbers are beside the bar, and screen readers ignore it. */
  readonly label?: string | undefined
}

/** A bar from zero to `max`. The content security policy forbids style attributes, so the CSSOM sets its length. */
export function Bar({ value, max, kind, label }: BarProps) {
  const share = max === 0 ? 0 : Math.min(1, value / max)
  const set = (element: HTMLElement | null) => element?.style.setProperty("--share", String(share))
  const said =
    label === undefined
      ? { "aria-hidden": true }
      : {
          role: "meter" as const,
          "aria-label": label,
          "aria-valuemin": 0,
          "aria-valuemax": max,
          "aria-valuenow": value,
        }
  return (
    <span class={`bar ${kind}`} {...said}>
      <i ref={set} />
    </span>
  )
}
