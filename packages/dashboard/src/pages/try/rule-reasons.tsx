import { t } from "../../browser/i18n.js"
import { href } from "../../browser/router.js"
import { Badge } from "../../parts/badge.js"
import { Panel } from "../../parts/panel.js"
import { becauseText } from "./because.js"
import type { Explanation, RuleExplanation } from "./explanation.js"
import { LimitFill } from "./limit-fill.js"
import { texts } from "./texts.js"

/** Every rule: those that apply in detail, the others in one line each. */
export function RuleReasons({ explanation: { rules, revision } }: { readonly explanation: Explanation }) {
  const text = t(texts)
  const applying = rules.filter(({ applies }) => applies)
  // Rules that match come first: they nearly applied.
  const others = rules.filter(({ applies }) => !applies).sort((a, b) => Number(b.matched) - Number(a.matched))
  return (
    <Panel title={text.rules} note={`${text.applyCount(applying.length)} · ${text.revision(revision)}`}>
      <ul class="try-rules">
        {applying.map((rule) => (
          <Applying key={rule.rule} rule={rule} />
        ))}
      </ul>
      {others.length > 0 && (
        <details class="try-others" open={others.length <= 5}>
          <summary>{text.others(others.length)}</summary>
          <ul>
            {others.map((rule) => (
              <li key={rule.rule}>
                <RuleLink rule={rule} />
                {rule.matched && <Badge>{text.matchedOnly}</Badge>}
                <span class="soft">{becauseText(rule.because)}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </Panel>
  )
}

function Applying({ rule }: { readonly rule: RuleExplanation }) {
  const text = t(texts)
  const {
    mode,
    because,
    key,
    cost,
    limitsFrom = "rule",
    limits = [],
    leases = [],
    concurrent = [],
    candidate = [],
  } = rule
  return (
    <li class="try-rule">
      <div class="try-rule-head">
        <RuleLink rule={rule} />
        <Badge kind={mode === "shadow" ? "shadow" : "allowed"}>{text.modes[mode]}</Badge>
        <span class="soft">{becauseText(because)}</span>
      </div>
      {key !== undefined && (
        <dl class="try-facts">
          <div>
            <dt>{text.key}</dt>
            <dd>
              <code>{key}</code>
            </dd>
          </div>
          <div>
            <dt>{text.cost}</dt>
            <dd class="numeric">{cost}</dd>
          </div>
          {limitsFrom !== "rule" && <div class="soft">{text.from[limitsFrom]}</div>}
        </dl>
      )}
      {limits.map((limit) => (
        <LimitFill key={limit.name} limit={limit} isConcurrent={concurrent.includes(limit.name)} />
      ))}
      {leases.map((sentence) => (
        <p key={sentence} class="soft">
          {becauseText(sentence)}
        </p>
      ))}
      {candidate.length > 0 && <h3 class="try-candidate">{text.candidate}</h3>}
      {candidate.map((limit) => (
        <LimitFill key={limit.name} limit={limit} isConcurrent={concurrent.includes(limit.name)} />
      ))}
    </li>
  )
}

function RuleLink({ rule: { rule } }: { readonly rule: RuleExplanation }) {
  return (
    <a href={href("rules", ["rule", rule])} title={t(texts).edit(rule)}>
      {rule}
    </a>
  )
}
