// The result of a replay: a comparison of the candidates, then the details of one.

import { useMemo, useState } from "preact/hooks"
import { minuteOf, period, share, span, whole } from "../../browser/format.js"
import type { Property } from "../../browser/theme.js"
import { Bar } from "../../parts/bar.js"
import { Chart } from "../../parts/chart/chart.js"
import { Panel } from "../../parts/panel.js"
import { Segmented } from "../../parts/segmented.js"
import { Table } from "../../parts/table.js"
import { CandidateDetails } from "./candidate-details.js"
import { columnsOf, type Distinct, type ReplayReport } from "./report.js"
import type { ReplayText } from "./texts.js"

/** One colour for each candidate. Their lines also have different dashes. */
const COLOURS: readonly Property[] = ["--denied", "--accent", "--shadow", "--degraded"]

export function Result({ report, text }: { readonly report: ReplayReport; readonly text: ReplayText }) {
  const { candidates } = report
  const [name, setName] = useState("")
  const shown = candidates.find((candidate) => candidate.name === name) ?? candidates[0]
  return (
    <>
      <Panel title={text.result}>
        <Facts report={report} text={text} />
        <Comparison report={report} text={text} />
      </Panel>
      <Course report={report} text={text} />
      {shown !== undefined && (
        <>
          <div class="replay-shown">
            <h2>{text.details}</h2>
            {candidates.length > 1 && (
              <Segmented
                label={text.candidate}
                value={shown.name}
                options={candidates.map((candidate) => ({ value: candidate.name, text: candidate.name }))}
                onChange={setName}
              />
            )}
          </div>
          <CandidateDetails candidate={shown} text={text} />
        </>
      )}
    </>
  )
}

function Facts({ report, text }: { readonly report: ReplayReport; readonly text: ReplayText }) {
  const { requests, clients, from, to, format, unreadable, disorder } = report
  return (
    <>
      <dl class="replay-facts">
        <Fact name={text.requests}>{whole(requests)}</Fact>
        <Fact name={text.clients}>{counted(clients, text)}</Fact>
        <Fact name={text.span}>{from === undefined || to === undefined ? text.none : period(from, to)}</Fact>
        <Fact name={text.read}>{format}</Fact>
        <Fact name={text.unreadable}>{unreadable.count === 0 ? text.none : whole(unreadable.count)}</Fact>
      </dl>
      {disorder.late > 0 && <p class="soft">{text.late(whole(disorder.late))}</p>}
      {unreadable.count > 0 && (
        <details class="replay-unreadable">
          <summary>{text.unreadable}</summary>
          <Table
            caption={text.unreadable}
            rows={unreadable.first}
            keyOf={({ line }) => String(line)}
            columns={[
              { title: text.line, numeric: true, cell: ({ line }) => whole(line) },
              { title: text.reason, cell: ({ reason }) => reason },
              { title: text.content, cell: ({ text: content }) => <code>{content}</code> },
            ]}
          />
        </details>
      )}
    </>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="numeric">{children}</dd>
    </div>
  )
}

function Comparison({ report, text }: { readonly report: ReplayReport; readonly text: ReplayText }) {
  const { requests, candidates } = report
  return (
    <Table
      caption={text.compare}
      rows={candidates}
      keyOf={({ name }) => name}
      columns={[
        { title: text.candidate, cell: ({ name }) => <b>{name}</b> },
        { title: text.denied, numeric: true, cell: ({ denied }) => whole(denied) },
        {
          title: text.shareDenied,
          cell: ({ denied }) => (
            <span class="replay-share">
              <Bar kind="denied" max={requests} value={denied} />
              <span class="numeric">{share(denied, requests)}</span>
            </span>
          ),
        },
        { title: text.hurt, numeric: true, cell: ({ hurt }) => counted(hurt.clients, text) },
        {
          title: text.worst,
          numeric: true,
          optional: true,
          cell: ({ worstMinutes: [worst] }) =>
            worst === undefined || worst.denied === 0
              ? "–"
              : text.worstMinute(whole(worst.denied), minuteOf(worst.at)),
        },
      ]}
    />
  )
}

function Course({ report, text }: { readonly report: ReplayReport; readonly text: ReplayText }) {
  const { stepMs, x, requests, denied } = useMemo(() => columnsOf(report), [report])
  const title = text.chart(span(stepMs))
  return (
    <Panel title={title}>
      <Chart
        label={title}
        untitled
        x={x}
        height={240}
        series={[
          { label: text.asked, colour: "--line-strong", values: requests, shape: "bars" },
          ...report.candidates.map(({ name }, i) => ({
            label: text.deniedBy(name),
            colour: COLOURS[i % COLOURS.length] as Property,
            values: denied[i] ?? [],
            shape: "steps" as const,
          })),
        ]}
      />
    </Panel>
  )
}

function counted({ count, exact }: Distinct, text: ReplayText): string {
  return exact ? whole(count) : text.about(whole(count))
}
