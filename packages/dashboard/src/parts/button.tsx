import type { ButtonHTMLAttributes, ComponentChildren } from "preact"

export interface ButtonProps extends Omit<ButtonHTMLAttributes, "type"> {
  /** A page has at most one `primary` button, for its main action. */
  readonly kind?: "primary" | "plain" | "quiet" | "danger"
  readonly size?: "small"
  /** While its action runs, the button keeps the focus and ignores clicks. */
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
