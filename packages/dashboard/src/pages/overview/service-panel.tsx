import type { ComponentChildren } from "preact"
import { ago, bytes, span, timeOfDay, whole } from "../../browser/format.js"
import { t } from "../../browser/i18n.js"
import { href } from "../../browser/router.js"
import { Badge } from "../../parts/badge.js"
import { Panel } from "../../parts/panel.js"
import { connection, lastHeard } from "../../service/live.js"
import type { Status } from "../../service/status.js"
import { texts } from "./texts.js"

/** The store, the rules and the processes of the service, as it reported them last. */
export function ServicePanel({ status }: { readonly status: Status }) {
  const text = t(texts)
  const { store, rules, leases } = status
  return (
    <Panel
      title={text.service}
      note={connection.value === "lost" && lastHeard.value > 0 && text.asOf(timeOfDay(lastHeard.value))}
    >
      <dl class="facts">
        <Fact label={text.store}>{text.stores[store.kind]}</Fact>
        <Fact label={text.breaker}>
          <Breaker store={store} />
        </Fact>
        {store.keys !== undefined && (
          <Fact label={text.keys} note={store.bytes === undefined ? undefined : bytes(store.bytes)}>
            {whole(store.keys)}
          </Fact>
        )}
        {leases !== undefined && leases.answered > 0 && (
          <Fact label={text.callsSaved} note={text.leasedKeys(whole(leases.keys))}>
            {whole(Math.max(0, leases.answered - leases.calls))}
          </Fact>
        )}
        <Fact label={text.instances}>{whole(store.instances ?? 1)}</Fact>
        <Fact label={text.workers}>{whole(status.workers)}</Fact>
        <Fact label={text.revision} note={changed(status)}>
          <a href={href("rules")}>{text.revisionValue(whole(rules.revision))}</a>
        </Fact>
        <Fact label={text.uptime}>{span(status.now - status.startedAt)}</Fact>
        <Fact label={text.version}>{status.version}</Fact>
      </dl>
    </Panel>
  )
}

function changed({ now, rules }: Status): string {
  const text = t(texts)
  if (rules.revision === 1) return text.unchanged
  return text.changed(ago(now - rules.changedAt), rules.changedBy)
}

interface FactProps {
  readonly label: string
  readonly note?: string | undefined
  readonly children: ComponentChildren
}

function Fact({ label, note, children }: FactProps) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        {children}
        {note && <span class="note">{note}</span>}
      </dd>
    </div>
  )
}

function Breaker({ store: { breakers } }: Pick<Status, "store">) {
  const text = t(texts)
  if (breakers === undefined) return <span class="soft">{text.breakers.none}</span>
  const all = breakers.closed + breakers.open + breakers["half-open"]
  const state = breakers.open > 0 ? "open" : breakers["half-open"] > 0 ? "half-open" : "closed"
  if (state === "closed") return <Badge kind="allowed">{text.breakers.closed}</Badge>
  const many = text.breakerMany(whole(all - breakers.closed), whole(all))
  return <Badge kind="denied">{all === 1 ? text.breakers[state] : many}</Badge>
}
