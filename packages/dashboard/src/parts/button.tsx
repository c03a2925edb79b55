import type { ButtonHTMLAttributes, ComponentChildren } from "preact"

export interface ButtonProps extends Omit<ButtonHTMLAttributes, "type"> {
  /** `primary` is what most people came for; one on a page. */
  readonly kind?: "primary" | "plain" | "quiet" | "danger"
  readonly size?: "small"
  /** What it does is under way. It keeps the focus, and does nothing more. */
  readonly busy?: boolean
  readonly submit?: boolean
  readonly children: ComponentChildren
}

export function Button({ kind = "plain", size, busy, submit, children, onClick, ...others }: ButtonProps) {
  return (
    <button
      {...others}
      type={submit ? "submit" : "button"}
      class={`button ${kind} ${size ?? ""} ${others.class ?? ""}`}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      {...(busy || onClick === undefined ? {} : { onClick })}
    >
      {children}
    </button>
  )
}
