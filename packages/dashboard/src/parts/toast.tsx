// Short messages about what the user did. Screen readers announce them, and they disappear after a while.

import { signal } from "@preact/signals"
import { t } from "../browser/i18n.js"
import { Problem } from "../service/problem.js"
import { Icon } from "./icon.js"
import { texts } from "./texts.js"

interface Toast {
  readonly id: number
  readonly kind: "done" | "failed"
  readonly text: string
}

const SHOWN_MS = { done: 5_000, failed: 12_000 }

const toasts = signal<readonly Toast[]>([])
let last = 0

export function toast(text: string, kind: Toast["kind"] = "done"): void {
  const id = ++last
  toasts.value = [...toasts.value.slice(-3), { id, kind, text }]
  setTimeout(() => dismiss(id), SHOWN_MS[kind])
}

/** Shows a failure as a message. */
export function toastProblem(error: unknown): void {
  toast(problemText(error), "failed")
}

/** The text for a failure, in the language of the page. */
export function problemText(error: unknown): string {
  if (!(error instanceof Problem)) return error instanceof Error ? error.message : String(error)
  if (error.code === "UNREACHABLE") return t(texts).unreachable
  if (error.code === "ROLE_REQUIRED") return t(texts).roleNeeded
  return error.message
}

function dismiss(id: number): void {
  toasts.value = toasts.value.filter((shown) => shown.id !== id)
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, kind, text }) => (
        <div key={id} class={`toast ${kind}`}>
          <Icon name={kind === "done" ? "check" : "warning"} />
          <p>{text}</p>
          <button
            type="button"
            class="button quiet icon-only small"
            aria-label={t(texts).close}
            onClick={() => dismiss(id)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  )
}
