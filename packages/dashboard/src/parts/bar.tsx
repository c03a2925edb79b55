export interface BarProps {
  readonly value: number
  readonly max: number
  readonly kind: "allowed" | "denied" | "degraded" | "accent"
  /** What it shows, with the numbers. Without it the numbers are beside it, and it is only to be seen. */
  readonly label?: string | undefined
}

/** How much of something is used. The length is set through the CSSOM: the policy of the page forbids style attributes. */
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
