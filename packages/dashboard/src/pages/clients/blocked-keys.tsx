import { useState } from "preact/hooks"
import type { BlockedRuleKey } from "sluice/rules"
import { ago, span, whole } from "../../browser/format.js"
import { t } from "../../browser/i18n.js"
import { href } from "../../browser/router.js"
import { Button } from "../../parts/button.js"
import { Empty, Failure, Loading } from "../../parts/empty.js"
import { Panel } from "../../parts/panel.js"
import { type Column, Table } from "../../parts/table.js"
import { toast, toastProblem } from "../../parts/toast.js"
import { ask, path } from "../../service/api.js"
import { mayEdit } from "../../service/session.js"
import { useAskedAgain } from "../../service/use-asked.js"
import { texts } from "./texts.js"

interface BlockedList {
  readonly blocks: readonly BlockedRuleKey[]
  readonly complete: boolean
}

const SHOWN = 50
const EVERY_MS = 2_000

/** Who is blocked, since when, why and for how long, with a button that ends the block. */
export function BlockedKeys() {
  const text = t(texts)
  const { reply, problem, reload } = useAskedAgain<BlockedList>(`blocks?limit=${SHOWN}`, EVERY_MS)
  const note = reply?.data.complete === false ? text.moreBlocked(whole(reply.data.blocks.length)) : undefined
  return (
    <Panel title={text.blockedKeys} note={note}>
      {reply !== undefined ? (
        <BlockTable blocks={reply.data.blocks} onChange={reload} />
      ) : problem === undefined ? (
        <Loading />
      ) : (
        <Failure problem={problem} onRetry={reload} />
      )}
    </Panel>
  )
}

function BlockTable({
  blocks,
  onChange,
}: {
  readonly blocks: readonly BlockedRuleKey[]
  readonly onChange: () => void
}) {
  const text = t(texts)
  const [busy, setBusy] = useState<string>()
  const unblock = async (block: BlockedRuleKey) => {
    setBusy(nameOf(block))
    try {
      await ask("DELETE", path("keys", block.rule, block.key, "block"))
      toast(text.unblockDone)
    } catch (error) {
      toastProblem(error)
    }
    setBusy(undefined)
    onChange()
  }
  if (blocks.length === 0)
    return (
      <Empty title={text.emptyBlocked}>
        <p>{text.emptyBlockedText}</p>
      </Empty>
    )
  const columns: Column<BlockedRuleKey>[] = [
    {
      title: text.key,
      cell: ({ rule, key }) => (
        <a class="key-name" href={href("clients", [rule, key])}>
          {key}
        </a>
      ),
    },
    { title: text.rule, cell: ({ rule }) => <code>{rule}</code> },
    { title: text.why, cell: (block) => reasonOf(block) },
    // By the clock of the service, which may differ from that of the browser.
    {
      title: text.since,
      cell: ({ blockedSince, blockedUntil, blockedForMs }) =>
        ago(Math.max(0, blockedUntil - blockedSince - blockedForMs)),
    },
    { title: text.lasts, numeric: true, cell: ({ blockedForMs }) => span(blockedForMs, "up") },
  ]
  if (mayEdit.value)
    columns.push({
      title: text.action,
      cell: (block) => (
        <Button
          size="small"
          busy={busy === nameOf(block)}
          aria-label={text.unblockKey(block.key)}
          onClick={() => void unblock(block)}
        >
          {text.unblock}
        </Button>
      ),
    })
  return <Table caption={text.blockedKeys} columns={columns} rows={blocks} keyOf={nameOf} />
}

function reasonOf({ limit, denials, earlier = 0 }: BlockedRuleKey): string {
  const text = t(texts)
  return limit === undefined ? text.byHand : text.byPenalty(limit, denials, earlier)
}

/** A key may be blocked by hand and by penalties at once. */
function nameOf({ rule, key, limit = "" }: BlockedRuleKey): string {
  return `${rule} ${key} ${limit}`
}
