import { waitText } from "../../browser/format.js"
import { t } from "../../browser/i18n.js"
import type { LimitState } from "./explanation.js"
import { texts } from "./texts.js"

/** How much of a limit is used, as a bar and in words. */
export function LimitFill({
  limit: state,
  isConcurrent,
}: {
  readonly limit: LimitState
  readonly isConcurrent: boolean
}) {
  const text = t(texts)
  const { name, allowed, limit, remaining, retryAfterMs, resetAfterMs } = state
  const used = limit === null || remaining === null ? 0 : limit - remaining
  const share = limit === null || limit === 0 ? 0 : used / limit
  const fill = (element: HTMLElement | null) => {
    element?.style.setProperty("--fill", `${(share * 100).toFixed(1)}%`)
  }
  const shown = text.used(String(used), String(limit ?? "∞"))
  return (
    <div class={allowed ? "try-limit" : "try-limit full"}>
      <div class="try-limit-words">
        <span class="try-limit-name">{name}</span>
        <span class="numeric">{shown}</span>
        <span class="soft">
          {stateText(text, { allowed, used, isConcurrent, retryAfterMs, resetAfterMs })}
        </span>
      </div>
      <div class="try-bar" aria-hidden="true">
        <div ref={fill} />
      </div>
    </div>
  )
}

function stateText(
  text: (typeof texts)["en"],
  {
    allowed,
    used,
    isConcurrent,
    retryAfterMs,
    resetAfterMs,
  }: Pick<LimitState, "allowed" | "retryAfterMs" | "resetAfterMs"> & { used: number; isConcurrent: boolean },
): string {
  if (!allowed) {
    if (retryAfterMs === "never") return text.limitNever
    return (isConcurrent ? text.placesFull : text.limitFull)(waitText(retryAfterMs))
  }
  if (used === 0 || resetAfterMs === "never") return text.unused
  return text.resets(waitText(resetAfterMs))
}
