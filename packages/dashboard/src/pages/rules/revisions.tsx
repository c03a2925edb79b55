// The history of the rules: who changed what, when and why. A rollback restores an earlier revision.

import { useEffect, useState } from "preact/hooks"
import type { RevisionInfo, RuleSetDocument } from "sluice/rules"
import { locale, t } from "../../browser/i18n.js"
import { href } from "../../browser/router.js"
import { Badge } from "../../parts/badge.js"
import { Button } from "../../parts/button.js"
import { Failure, Loading } from "../../parts/empty.js"
import { PageHead } from "../../parts/panel.js"
import { type Column, Table } from "../../parts/table.js"
import { changeWords, revisionOf } from "../../rules/revision.js"
import { texts } from "../../rules/texts.js"
import { ask } from "../../service/api.js"
import { onEvent } from "../../service/live.js"
import { useAsked } from "../../service/use-asked.js"
import { CompareRevision } from "./compare-revision.js"

export interface RevisionsProps {
  readonly set: RuleSetDocument
  readonly etag: string
}

export function Revisions({ set, etag }: RevisionsProps) {
  const text = t(texts)
  const { reply, problem, reload } = useAsked<readonly RevisionInfo[]>("rules/revisions")
  const [compared, setCompared] = useState<{ revision: number; document: RuleSetDocument } | undefined>()
  const [failed, setFailed] = useState<unknown>()
  useEffect(() => onEvent("rules", reload), [reload])
  const inForce = Number(revisionOf(etag))
  const compare = (revision: number) => {
    ask<RuleSetDocument>("GET", `rules/revisions/${revision}`).then(
      ({ data }) => setCompared({ revision, document: data }),
      setFailed,
    )
  }
  const columns: Column<RevisionInfo>[] = [
    {
      title: text.historyColumns.revision,
      cell: ({ revision }) => (
        <>
          <span class="numeric">{revision}</span>{" "}
          {revision === inForce && <Badge kind="allowed">{text.inForce}</Badge>}
        </>
      ),
    },
    {
      title: text.historyColumns.when,
      cell: ({ changedAt }) => (
        <time dateTime={new Date(changedAt).toISOString()}>{timeText(changedAt)}</time>
      ),
    },
    { title: text.historyColumns.who, cell: ({ changedBy }) => changedBy },
    { title: text.historyColumns.what, cell: ({ changes }) => changeWords(changes) },
    {
      title: text.historyColumns.why,
      optional: true,
      cell: ({ comment }) => comment ?? <span class="soft">–</span>,
    },
    {
      title: text.columns.actions,
      cell: ({ revision }) =>
        revision === inForce ? null : (
          <Button size="small" aria-label={text.compareRevision(revision)} onClick={() => compare(revision)}>
            {text.compare}
          </Button>
        ),
    },
  ]
  return (
    <>
      <p class="rules-back">
        <a href={href("rules")}>← {text.back}</a>
      </p>
      <PageHead title={text.historyTitle} lead={text.historyLead} />
      <div class="panel rules-table rules-history">
        {reply !== undefined ? (
          <Table
            caption={text.historyTitle}
            columns={columns}
            rows={reply.data}
            keyOf={({ revision }) => String(revision)}
          />
        ) : problem !== undefined ? (
          <Failure problem={problem} onRetry={reload} />
        ) : (
          <Loading />
        )}
        {failed !== undefined && <Failure problem={failed} onRetry={() => setFailed(undefined)} />}
      </div>
      {compared !== undefined && (
        <CompareRevision {...compared} current={set} etag={etag} onClose={() => setCompared(undefined)} />
      )}
    </>
  )
}

function timeText(at: number): string {
  return new Date(at).toLocaleString(locale(), { dateStyle: "medium", timeStyle: "medium" })
}
