import { useEffect, useState } from "preact/hooks"
import type { RuleSetDocument } from "sluice/rules"
import { compact, whole } from "../../browser/format.js"
import { t } from "../../browser/i18n.js"
import { href } from "../../browser/router.js"
import { Badge } from "../../parts/badge.js"
import { Button } from "../../parts/button.js"
import { Sparkline } from "../../parts/chart/sparkline.js"
import { Panel } from "../../parts/panel.js"
import { type Column, Table } from "../../parts/table.js"
import { status } from "../../service/status.js"
import { activeRules, type Counts, ruleSeries, ruleTotals, SPAN_SECONDS } from "../../service/traffic.js"
import { useAsked } from "../../service/use-asked.js"
import { RATE_SECONDS } from "./figures.js"
import { texts } from "./texts.js"

interface Row {
  readonly id: string
  /** Undefined if the rule set has no such rule. */
  readonly mode: "enforce" | "shadow" | "off" | undefined
  /** Undefined while the service is not reachable. */
  readonly counts: Counts | undefined
}

/** Points of the sparkline: 15 minutes in steps of 15 seconds. */
const POINTS = 60
/** Rows shown at first. The table is drawn again each second, which is slow with a thousand rules. */
const FIRST_ROWS = 20

/** The rates of each rule, the busiest rule first. */
export function RuleTable({ chosen }: { readonly chosen: string | undefined }) {
  const text = t(texts)
  const { reply, reload } = useAsked<RuleSetDocument>("rules")
  const revision = status.value?.rules.revision
  useEffect(reload, [revision])
  const [showsAll, setAll] = useState(false)
  const rows = rowsOf(reply?.data)
  const shown = showsAll ? rows : rows.slice(0, FIRST_ROWS)
  const columns: Column<Row>[] = [
    { title: text.rule, cell: ({ id }) => <RuleName id={id} isChosen={id === chosen} /> },
    { title: text.mode, optional: true, cell: ({ mode }) => <Mode mode={mode} /> },
    rateColumn(text.allowed, "allowed"),
    rateColumn(text.denied, "denied"),
    rateColumn(text.shadow, "shadowDenied"),
    rateColumn(text.degraded, "degraded", true),
    { title: text.lastQuarter, optional: true, cell: ({ id }) => <DeniedLine id={id} /> },
  ]
  return (
    <Panel title={text.rules} note={text.figures}>
      <Table caption={text.rulesCaption} columns={columns} rows={shown} keyOf={({ id }) => id} />
      {rows.length > FIRST_ROWS && (
        <div class="more">
          <Button kind="quiet" size="small" onClick={() => setAll(!showsAll)}>
            {showsAll ? text.fewer : text.all(whole(rows.length))}
          </Button>
        </div>
      )}
    </Panel>
  )
}

function rowsOf(set: RuleSetDocument | undefined): Row[] {
  const rules = set?.rules ?? []
  const known = rules.map(({ id, mode = "enforce" }) => ({ id, mode, counts: ruleTotals(id, RATE_SECONDS) }))
  const others = activeRules()
    .filter((id) => !rules.some((rule) => rule.id === id))
    .map((id) => ({ id, mode: undefined, counts: ruleTotals(id, RATE_SECONDS) }))
    // A deleted rule stays in the table while it has recent decisions.
    .filter(({ counts }) => busyness(counts) > 0)
  return [...known, ...others].sort((a, b) => busyness(b.counts) - busyness(a.counts))
}

function busyness(counts: Counts | undefined): number {
  return counts === undefined ? 0 : counts.allowed + counts.denied + counts.shadowDenied
}

function rateColumn(title: string, outcome: keyof Counts, optional = false): Column<Row> {
  return {
    title,
    numeric: true,
    optional,
    cell({ counts }) {
      if (counts === undefined) return <span class="soft">–</span>
      const value = counts[outcome] / RATE_SECONDS
      return value === 0 ? (
        <span class="soft">0</span>
      ) : (
        <span class={`outcome ${outcome}`}>
          {compact(value)}
          {t(texts).perSecond}
        </span>
      )
    },
  }
}

function RuleName({ id, isChosen }: { readonly id: string; readonly isChosen: boolean }) {
  const text = t(texts)
  if (id === "_none") return <span title={text.unlimited}>{text.noRule}</span>
  if (id === "_other") return <>{text.otherRules}</>
  return (
    <a
      class="rule-name"
      href={href("overview", [], isChosen ? {} : { rule: id })}
      aria-current={isChosen || undefined}
    >
      {id}
    </a>
  )
}

function Mode({ mode }: Pick<Row, "mode">) {
  if (mode === undefined) return <>–</>
  const kind = mode === "shadow" ? "shadow" : mode === "enforce" ? "allowed" : "neutral"
  return <Badge kind={kind}>{t(texts).modes[mode]}</Badge>
}

function DeniedLine({ id }: { readonly id: string }) {
  const denied = ruleSeries(id, "denied")
  const shadow = ruleSeries(id, "shadowDenied")
  const step = SPAN_SECONDS / POINTS
  const points = Array.from({ length: POINTS }, (_, i) => {
    const known = [denied, shadow].flatMap((series) =>
      series.slice(i * step, (i + 1) * step).filter((value) => value !== null),
    )
    return known.length === 0 ? null : sum(known)
  })
  const label = t(texts).deniedSparkline(id, whole(sum(points)))
  const colour = sum(points) === 0 ? "--line-strong" : sum(shadow) > sum(denied) ? "--shadow" : "--denied"
  return <Sparkline label={label} values={points} colour={colour} />
}

function sum(values: readonly (number | null)[]): number {
  return values.reduce<number>((total, value) => total + (value ?? 0), 0)
}
