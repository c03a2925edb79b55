// The results of all algorithms as a table.

import { waitText } from "../../browser/format.js"
import { locale } from "../../browser/i18n.js"
import { Table } from "../../parts/table.js"
import { lengthText, type PlaygroundText } from "./texts.js"
import type { Run } from "./time-line.js"
import type { Terms } from "./traffic.js"
import { codeOf } from "./variants.js"

export function Numbers({
  runs,
  terms,
  text,
}: {
  readonly runs: readonly Run[]
  readonly terms: Terms
  readonly text: PlaygroundText
}) {
  const number = (value: number) => value.toLocaleString(locale())
  return (
    <Table
      caption={text.numbers}
      rows={runs}
      keyOf={({ variant }) => variant.id}
      columns={[
        { title: text.algorithm, cell: ({ variant }) => <span class="mono">{variant.name}</span> },
        { title: text.letThrough, numeric: true, cell: ({ outcome }) => number(outcome.admitted) },
        {
          title: text.deniedColumn,
          numeric: true,
          cell: ({ outcome }) => number(outcome.asked - outcome.admitted),
        },
        {
          title: text.busiest(lengthText(text, terms)),
          numeric: true,
          cell: ({ outcome: { busiest } }) =>
            busiest.total > terms.limit ? (
              <b class="playground-over">{`${number(busiest.total)} (+${number(busiest.total - terms.limit)})`}</b>
            ) : (
              number(busiest.total)
            ),
        },
        {
          title: text.longestWait,
          numeric: true,
          optional: true,
          cell: ({ outcome: { longestDelayMs } }) => {
            if (longestDelayMs === 0) return "–"
            if (terms.calendar !== undefined) return waitText(longestDelayMs)
            return text.milliseconds(number(Math.ceil(longestDelayMs)))
          },
        },
        {
          title: text.code,
          optional: true,
          cell: ({ variant }) => <code>{codeOf(variant, terms)}</code>,
        },
      ]}
    />
  )
}
