import type { ComponentChildren } from "preact"
import { t } from "../browser/i18n.js"
import { Button } from "./button.js"
import { texts } from "./texts.js"
import { problemText } from "./toast.js"

/** Shown instead of an empty list: what would be here, and what to do next. */
export function Empty({
  title,
  children,
}: {
  readonly title: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="empty">
      <h3>{title}</h3>
      {children}
    </div>
  )
}

export function Loading() {
  return (
    <p class="loading" role="status">
      {t(texts).loading}
    </p>
  )
}

/** Shown when loading failed. */
export function Failure({ problem, onRetry }: { readonly problem: unknown; readonly onRetry: () => void }) {
  return (
    <div class="empty" role="alert">
      <h3>{t(texts).failed}</h3>
      <p>{problemText(problem)}</p>
      <Button onClick={onRetry}>{t(texts).retry}</Button>
    </div>
  )
}
