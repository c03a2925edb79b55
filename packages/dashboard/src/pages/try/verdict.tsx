import { waitText } from "../../browser/format.js"
import { t } from "../../browser/i18n.js"
import { Icon } from "../../parts/icon.js"
import type { Explanation } from "./explanation.js"
import { texts } from "./texts.js"

/** The decision as a word and a sentence. Screen readers announce it. */
export function Verdict({ explanation }: { readonly explanation: Explanation }) {
  const text = t(texts)
  const { decision } = explanation
  const { reason, allowed, retryAfterMs, rule, limitName, shadowDenied = [], degraded } = decision
  const denying = explanation.rules.find((one) => one.rule === rule)
  const isConcurrent = reason === "limit" && denying?.concurrent?.includes(limitName ?? "")
  const passesIn = isConcurrent ? text.passesAtLatest : text.passesIn
  return (
    <section class={`panel try-verdict ${allowed ? "allowed" : "denied"}`} role="status">
      <Icon name={allowed ? "check" : "close"} />
      <div>
        <h2>{allowed ? text.allowed : text.denied}</h2>
        <p>
          {sentenceOf(explanation)} {reason === "limit" && retryAfterMs === "never" && text.never}
          {!allowed && retryAfterMs !== "never" && retryAfterMs > 0 && passesIn(waitText(retryAfterMs))}
        </p>
        {shadowDenied.length > 0 && <p class="try-shadow">{text.shadowDenied(shadowDenied.join(", "))}</p>}
        {degraded !== undefined && <p class="try-degraded">{text.degraded}</p>}
      </div>
    </section>
  )
}

function sentenceOf({ decision, request }: Explanation): string {
  const { reason, rule = "", limitName = "", remaining, limit, ambiguous = "" } = decision
  const { verdict: words, refusals } = t(texts)
  switch (reason) {
    case "within-limits":
      return words[reason](String(remaining ?? "∞"), String(limit ?? "∞"), limitName, rule)
    case "limit":
      return words[reason](limitName, rule)
    case "block":
    case "missing-key":
      return words[reason](rule)
    case "ambiguous-key":
      return words[reason](ambiguous)
    case "bad-path": {
      const { badPath = "" } = request
      return words[reason](refusals[badPath] ?? badPath)
    }
    default:
      return words[reason]
  }
}
