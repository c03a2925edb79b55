import { waitText } from "../../browser/format.js"
import { t } from "../../browser/i18n.js"
import { Icon } from "../../parts/icon.js"
import type { Explanation } from "./explanation.js"
import { texts } from "./texts.js"

/** The decision, first as a word and then as a sentence. Read out when it comes. */
export function Verdict({ explanation: { decision } }: { readonly explanation: Explanation }) {
  const text = t(texts)
  const { allowed, retryAfterMs, shadowDenied = [], degraded } = decision
  return (
    <section class={`panel try-verdict ${allowed ? "allowed" : "denied"}`} role="status">
      <Icon name={allowed ? "check" : "close"} />
      <div>
        <h2>{allowed ? text.allowed : text.denied}</h2>
        <p>
          {sentenceOf(decision)}{" "}
          {!allowed &&
            (retryAfterMs === "never"
              ? text.never
              : retryAfterMs > 0 && text.passesIn(waitText(retryAfterMs)))}
        </p>
        {shadowDenied.length > 0 && <p class="try-shadow">{text.shadowDenied(shadowDenied.join(", "))}</p>}
        {degraded !== undefined && <p class="try-degraded">{text.degraded}</p>}
      </div>
    </section>
  )
}

function sentenceOf({
  reason,
  rule = "",
  limitName = "",
  remaining,
  limit,
}: Explanation["decision"]): string {
  const words = t(texts).verdict
  switch (reason) {
    case "within-limits":
      return words[reason](String(remaining ?? "∞"), String(limit ?? "∞"), limitName, rule)
    case "limit":
      return words[reason](limitName, rule)
    case "block":
    case "missing-key":
      return words[reason](rule)
    default:
      return words[reason]
  }
}
