import type { RuleSpec } from "sluice/rules"
import { compact } from "../../format.js"
import { t } from "../../i18n.js"
import { Sparkline } from "../../parts/sparkline.js"
import { ruleSeries, ruleTotals } from "../../traffic/traffic.js"
import { modeOf } from "./rule.js"
import { texts } from "./texts.js"

const SECONDS = 60

/** The last minute of a rule: how much it decided, and how much of that it denied, or would have in shadow. */
export function Minute({ rule }: { readonly rule: RuleSpec }) {
  const text = t(texts)
  const { allowed, denied, shadowDenied } = ruleTotals(rule.id, SECONDS)
  if (allowed + denied + shadowDenied === 0) return <span class="soft">{text.quiet}</span>
  const label = text.minute(allowed, denied, shadowDenied)
  // What a shadow lets through is counted nowhere; only what it would have denied.
  if (modeOf(rule) === "shadow")
    return (
      <div class="rules-minute">
        <Sparkline label={label} values={ruleSeries(rule.id, "shadowDenied", SECONDS)} colour="--shadow" />
        <span class="rules-shadow" aria-hidden="true">
          {text.overShadow(compact(shadowDenied))}
        </span>
      </div>
    )
  const over = ruleSeries(rule.id, "denied", SECONDS)
  const all = ruleSeries(rule.id, "allowed", SECONDS).map((value, i) => value + (over[i] ?? 0))
  return (
    <div class="rules-minute">
      <Sparkline label={label} values={all} />
      {denied > 0 && (
        <span class="rules-denied" aria-hidden="true">
          {text.over(compact(denied))}
        </span>
      )}
    </div>
  )
}
