import { useState } from "preact/hooks"
import type { RuleSetDocument } from "sluice/rules"
import { whole } from "../../browser/format.js"
import { t } from "../../browser/i18n.js"
import { go, href } from "../../browser/router.js"
import { Bar } from "../../parts/bar.js"
import { Button } from "../../parts/button.js"
import { Empty, Failure, Loading } from "../../parts/empty.js"
import { Field } from "../../parts/field.js"
import { PageHead, Panel } from "../../parts/panel.js"
import { type Column, Table } from "../../parts/table.js"
import { useAsked, useAskedAgain } from "../../service/use-asked.js"
import { BlockedKeys } from "./blocked-keys.js"
import { texts } from "./texts.js"

interface TopKey {
  readonly rule: string
  readonly key: string
  readonly count: number
  readonly error: number
}

const SHOWN = 15
const EVERY_MS = 2_000

export function BusiestKeys() {
  const text = t(texts)
  return (
    <>
      <PageHead title={text.title} lead={text.lead} />
      <div class="clients-pair">
        <Panel title={text.denied} note={text.recent}>
          <TopTable by="denied" empty={text.emptyDenied} caption={text.denied} />
        </Panel>
        <Panel title={text.used} note={text.recent}>
          <TopTable by="used" empty={text.emptyUsed} caption={text.used} />
        </Panel>
      </div>
      <div class="clients-blocked">
        <BlockedKeys />
      </div>
      <FindKey />
    </>
  )
}

interface TopTableProps {
  readonly by: "denied" | "used"
  readonly caption: string
  readonly empty: string
}

function TopTable({ by, caption, empty }: TopTableProps) {
  const text = t(texts)
  const address = `top?by=${by}&limit=${SHOWN}`
  const { reply, problem, reload } = useAskedAgain<readonly TopKey[]>(address, EVERY_MS)
  if (reply === undefined)
    return problem === undefined ? <Loading /> : <Failure problem={problem} onRetry={reload} />
  const rows = reply.data
  const max = rows[0]?.count ?? 1
  if (rows.length === 0)
    return (
      <Empty title={empty}>
        <p>{text.emptyText}</p>
      </Empty>
    )
  const columns: Column<TopKey>[] = [
    {
      title: text.key,
      cell: ({ rule, key }) => (
        <a class="key-name" href={href("clients", [rule, key])}>
          {key}
        </a>
      ),
    },
    { title: text.rule, cell: ({ rule }) => <code>{rule}</code> },
    {
      title: text.count,
      numeric: true,
      cell: ({ count, error }) => (
        <span class="count" title={error > 0 ? text.about(whole(error)) : undefined}>
          <Bar kind={by === "denied" ? "denied" : "allowed"} max={max} value={count} />
          {whole(count)}
        </span>
      ),
    },
  ]
  return <Table caption={caption} columns={columns} rows={rows} keyOf={({ rule, key }) => `${rule} ${key}`} />
}

/** Opens the page of any key, also of one that is not busy. */
function FindKey() {
  const text = t(texts)
  const { reply } = useAsked<RuleSetDocument>("rules")
  const rules = reply?.data.rules ?? []
  const [rule, setRule] = useState<string>()
  const [key, setKey] = useState("")
  const chosen = rule ?? rules[0]?.id
  return (
    <Panel title={text.find}>
      <form
        class="find-key"
        onSubmit={(event) => {
          event.preventDefault()
          if (chosen !== undefined && key.trim() !== "") go("clients", [chosen, key.trim()])
        }}
      >
        <Field label={text.rule}>
          {(attributes) => (
            <select
              {...attributes}
              value={chosen}
              onChange={({ currentTarget }) => setRule(currentTarget.value)}
            >
              {rules.map(({ id }) => (
                <option key={id}>{id}</option>
              ))}
            </select>
          )}
        </Field>
        <Field label={text.key} hint={text.keyHint}>
          {(attributes) => (
            <input
              {...attributes}
              class="mono"
              required
              spellcheck={false}
              autocomplete="off"
              value={key}
              onInput={({ currentTarget }) => setKey(currentTarget.value)}
            />
          )}
        </Field>
        <Button submit>{text.show}</Button>
      </form>
    </Panel>
  )
}
