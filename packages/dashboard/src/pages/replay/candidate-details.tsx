// The details of one candidate: its rules, the clients that it denied most, and its worst minutes.

import { minuteOf, period, share, whole } from "../../browser/format.js"
import { Badge, type BadgeKind } from "../../parts/badge.js"
import { Empty } from "../../parts/empty.js"
import { Panel } from "../../parts/panel.js"
import { Table } from "../../parts/table.js"
import type { CandidateReport, RuleReport } from "./report.js"
import type { ReplayText } from "./texts.js"

interface DetailsProps {
  readonly candidate: CandidateReport
  readonly text: ReplayText
}

const KINDS: Readonly<Record<RuleReport["mode"], BadgeKind>> = {
  enforce: "allowed",
  shadow: "shadow",
  off: "neutral",
}

export function CandidateDetails({ candidate, text }: DetailsProps) {
  return (
    <div class="replay-details">
      <Panel title={text.byRule}>
        <ByRule candidate={candidate} text={text} />
      </Panel>
      {candidate.denied === 0 ? (
        <Panel title={text.whom}>
          <Empty title={text.nobody}>
            <p>{text.nobodyHint}</p>
          </Empty>
        </Panel>
      ) : (
        <>
          <Panel title={text.whom}>
            <Whom candidate={candidate} text={text} />
          </Panel>
          <Panel title={text.when}>
            <When candidate={candidate} text={text} />
          </Panel>
        </>
      )}
    </div>
  )
}

function ByRule({ candidate, text }: DetailsProps) {
  const outright = Object.entries(candidate.deniedOutright)
  return (
    <>
      <Table
        caption={text.byRule}
        rows={candidate.rules}
        keyOf={({ id }) => id}
        columns={[
          { title: text.rule, cell: ({ id }) => <span class="mono">{id}</span> },
          { title: text.mode, cell: ({ mode }) => <Badge kind={KINDS[mode]}>{text.modes[mode]}</Badge> },
          { title: text.askedRule, numeric: true, cell: ({ requests }) => whole(requests) },
          { title: text.denied, numeric: true, cell: ({ denied }) => whole(denied) },
          {
            title: text.shareDenied,
            numeric: true,
            optional: true,
            cell: ({ denied, requests }) => share(denied, requests),
          },
          {
            title: text.shadowDenied,
            numeric: true,
            optional: true,
            cell: ({ shadowDenied }) => whole(shadowDenied),
          },
        ]}
      />
      {candidate.holds !== undefined && candidate.holds.untimed > 0 && (
        <p class="soft">{text.untimed(whole(candidate.holds.untimed))}</p>
      )}
      {candidate.costs !== undefined && candidate.costs.estimated > 0 && (
        <p class="soft">{text.estimated(whole(candidate.costs.estimated))}</p>
      )}
      {outright.length > 0 && (
        <p class="replay-outright">
          <b>{text.outright}</b> {outright.map(([reason, count]) => `${reason}: ${whole(count)}`).join(", ")}{" "}
          <span class="soft">{text.outrightHint}</span>
        </p>
      )}
    </>
  )
}

function Whom({ candidate, text }: DetailsProps) {
  return (
    <Table
      caption={text.whom}
      rows={candidate.hurt.most}
      keyOf={({ client }) => client}
      columns={[
        { title: text.client, cell: ({ client }) => <span class="mono">{client}</span> },
        { title: text.requests, numeric: true, cell: ({ requests }) => whole(requests) },
        { title: text.denied, numeric: true, cell: ({ denied }) => whole(denied) },
        {
          title: text.shareDenied,
          numeric: true,
          cell: ({ denied, requests }) => share(denied, requests),
        },
        {
          title: text.period,
          optional: true,
          cell: ({ firstDenied, lastDenied }) => period(firstDenied, lastDenied),
        },
      ]}
    />
  )
}

function When({ candidate, text }: DetailsProps) {
  return (
    <Table
      caption={text.when}
      rows={candidate.worstMinutes.filter(({ denied }) => denied > 0)}
      keyOf={({ at }) => String(at)}
      columns={[
        { title: text.minute, cell: ({ at }) => minuteOf(at) },
        { title: text.requests, numeric: true, cell: ({ requests }) => whole(requests) },
        { title: text.denied, numeric: true, cell: ({ denied }) => whole(denied) },
      ]}
    />
  )
}
