import { useState } from "preact/hooks"
import type { LimitSpec, RuleSetDocument, RuleSpec } from "sluice/rules"
import { compact } from "../../browser/format.js"
import { t } from "../../browser/i18n.js"
import { href } from "../../browser/router.js"
import { Badge, type BadgeKind } from "../../parts/badge.js"
import { Button } from "../../parts/button.js"
import { Sparkline } from "../../parts/chart/sparkline.js"
import { Empty } from "../../parts/empty.js"
import { Icon } from "../../parts/icon.js"
import { PageHead } from "../../parts/panel.js"
import { type Column, Table } from "../../parts/table.js"
import { toast, toastProblem } from "../../parts/toast.js"
import { revisionOf } from "../../rules/revision.js"
import {
  enforcingPatch,
  isFound,
  keyText,
  limitsOf,
  limitText,
  type Mode,
  matchText,
  modeOf,
} from "../../rules/rule.js"
import { texts } from "../../rules/texts.js"
import { ask, path } from "../../service/api.js"
import { Problem } from "../../service/problem.js"
import { mayEdit } from "../../service/session.js"
import { ruleSeries, ruleTotals } from "../../service/traffic.js"
import { hasDraft } from "./edit/drafts.js"

export interface RuleListProps {
  readonly set: RuleSetDocument
  readonly etag: string
  readonly reload: () => void
}

const MODE_BADGES: Readonly<Record<Mode, BadgeKind>> = {
  enforce: "allowed",
  shadow: "shadow",
  off: "neutral",
}

/** At most this many rows are drawn. A set can have ten thousand rules; the search finds the others. */
const MAX_ROWS = 200

export function RuleList({ set, etag, reload }: RuleListProps) {
  const text = t(texts)
  const [search, setSearch] = useState("")
  const found = set.rules.filter((rule) => isFound(rule, search, set.defaults))
  const columns: Column<RuleSpec>[] = [
    { title: text.columns.rule, cell: (rule) => <RuleName rule={rule} /> },
    {
      title: text.columns.mode,
      cell: (rule) => (
        <div class="rules-modes">
          <Badge kind={MODE_BADGES[modeOf(rule)]}>{text.modes[modeOf(rule)]}</Badge>
          {rule.candidate !== undefined && <Badge kind="shadow">{text.candidate}</Badge>}
        </div>
      ),
    },
    { title: text.columns.limits, cell: (rule) => <Limits limits={limitsOf(rule, set.defaults)} /> },
    { title: text.columns.key, optional: true, cell: (rule) => <code>{keyText(rule)}</code> },
    { title: text.columns.minute, cell: (rule) => <Minute rule={rule} /> },
    {
      title: text.columns.actions,
      cell: (rule) =>
        enforcingPatch(rule) !== undefined && mayEdit.value ? (
          <Enforce rule={rule} etag={etag} reload={reload} />
        ) : null,
    },
  ]
  return (
    <>
      <PageHead title={text.title} lead={text.lead}>
        <a class="button" href={href("rules", ["history"])}>
          {text.history}
        </a>
        <a class="button" href={href("rules", ["set"])}>
          {text.asYaml}
        </a>
        {mayEdit.value && (
          <a class="button primary" href={href("rules", ["new"])}>
            <Icon name="plus" /> {text.newRule}
          </a>
        )}
      </PageHead>
      <div class="panel rules-table rules-list">
        {set.rules.length === 0 ? (
          <Empty title={text.none}>
            <p>{text.noneMeans}</p>
            {mayEdit.value && (
              <a class="button primary" href={href("rules", ["new"])}>
                {text.newRule}
              </a>
            )}
          </Empty>
        ) : (
          <>
            <div class="rules-search">
              <label>
                <span class="hidden">{text.search}</span>
                <Icon name="search" />
                <input
                  type="search"
                  placeholder={text.searchHint}
                  value={search}
                  onInput={({ currentTarget }) => setSearch(currentTarget.value)}
                />
              </label>
              <p class="soft" role="status">
                {text.shown(found.length, set.rules.length)}
                {found.length > MAX_ROWS && ` · ${text.first(MAX_ROWS)}`}
              </p>
              <p class="soft rules-revision">{text.revision(revisionOf(etag))}</p>
            </div>
            {found.length === 0 ? (
              <Empty title={text.noMatch}>
                <Button onClick={() => setSearch("")}>{text.clearSearch}</Button>
              </Empty>
            ) : (
              <Table
                caption={text.title}
                columns={columns}
                rows={found.slice(0, MAX_ROWS)}
                keyOf={({ id }) => id}
              />
            )}
          </>
        )}
      </div>
    </>
  )
}

function RuleName({ rule }: { readonly rule: RuleSpec }) {
  const text = t(texts)
  const { id, description } = rule
  return (
    <div class="rules-name">
      <a href={href("rules", ["rule", id])}>{id}</a>
      <code>{matchText(rule) ?? text.everyRequest}</code>
      {hasDraft(`rule ${id}`) && <Badge kind="degraded">{text.unsaved}</Badge>}
      {description !== undefined && (
        <p class="soft" title={description}>
          {description}
        </p>
      )}
    </div>
  )
}

function Limits({ limits }: { readonly limits: readonly LimitSpec[] }) {
  if (limits.length === 0) return <span class="soft">{t(texts).unlimited}</span>
  return (
    <ul class="rules-limits">
      {limits.map((limit) => (
        <li key={`${limit.name} ${limit.window} ${limit.algorithm}`}>
          <span class="numeric">{limitText(limit)}</span>{" "}
          {limit.algorithm !== undefined && <span class="soft">{limit.algorithm}</span>}
        </li>
      ))}
    </ul>
  )
}

function Enforce({
  rule,
  etag,
  reload,
}: Pick<RuleListProps, "etag" | "reload"> & { readonly rule: RuleSpec }) {
  const text = t(texts)
  const { id } = rule
  const [isBusy, setBusy] = useState(false)
  const label = modeOf(rule) === "shadow" ? text.enforceRule(id) : text.enforceCandidate(id)
  const enforce = async () => {
    setBusy(true)
    try {
      const sending = { body: enforcingPatch(rule), type: "application/merge-patch+json", ifMatch: etag }
      await ask("PATCH", path("rules", id), sending)
      toast(text.enforced(id))
    } catch (problem) {
      if (problem instanceof Problem && problem.isConflict) toast(text.conflictAgain, "failed")
      else toastProblem(problem)
    }
    setBusy(false)
    reload()
  }
  return (
    <Button size="small" busy={isBusy} aria-label={label} title={label} onClick={() => void enforce()}>
      {text.enforce}
    </Button>
  )
}

const SECONDS = 60

/** The decisions of a rule in the last minute, with those that it denied, or would have denied in shadow. */
export function Minute({ rule }: { readonly rule: RuleSpec }) {
  const text = t(texts)
  const totals = ruleTotals(rule.id, SECONDS)
  if (totals === undefined) return <span class="soft">–</span>
  const { allowed, denied, shadowDenied } = totals
  if (allowed + denied + shadowDenied === 0) return <span class="soft">{text.quiet}</span>
  const label = text.minute(allowed, denied, shadowDenied)
  // A rule in shadow counts only the requests that it would have denied.
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
  const all = ruleSeries(rule.id, "allowed", SECONDS).map((value, i) =>
    value === null ? null : value + (over[i] ?? 0),
  )
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
