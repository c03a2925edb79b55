import "./page.css"
import { whole } from "../../browser/format.js"
import { t } from "../../browser/i18n.js"
import { href, route } from "../../browser/router.js"
import { Badge } from "../../parts/badge.js"
import { Empty } from "../../parts/empty.js"
import { Icon } from "../../parts/icon.js"
import { PageHead, Panel } from "../../parts/panel.js"
import { connection } from "../../service/live.js"
import { status } from "../../service/status.js"
import { hasTraffic } from "../../service/traffic.js"
import { useAskedAgain } from "../../service/use-asked.js"
import { Charts } from "./charts.js"
import { Figures } from "./figures.js"
import { RuleTable } from "./rule-table.js"
import { SampleTraffic } from "./sample-traffic.js"
import { ServicePanel } from "./service-panel.js"
import { texts } from "./texts.js"

export function Page() {
  const text = t(texts)
  const rule = route.value.query.get("rule") ?? undefined
  return (
    <div class="overview">
      <PageHead title={text.title}>
        {hasTraffic.value && <SampleTraffic />}
        <ServiceStatus />
      </PageHead>
      <Warnings />
      <div class="overview-columns">
        <div class="overview-main">
          {hasTraffic.value ? (
            <>
              <Figures />
              <Charts rule={rule} />
              <RuleTable chosen={rule} />
            </>
          ) : (
            <section class="panel">
              <Empty title={text.emptyTitle}>
                <p>{text.emptyText}</p>
                <SampleTraffic primary />
                <p>{text.emptyHow}</p>
              </Empty>
            </section>
          )}
        </div>
        <div class="overview-main">
          {status.value && <ServicePanel status={status.value} />}
          <MostDenied />
        </div>
      </div>
    </div>
  )
}

/** What the service says of itself, or that it is not reachable. */
function ServiceStatus() {
  const text = t(texts).status
  if (connection.value === "lost") return <Badge kind="denied">{text.unreachable}</Badge>
  if (status.value === undefined) return null
  const { status: now } = status.value
  return <Badge kind={now === "ready" ? "allowed" : "degraded"}>{text[now]}</Badge>
}

/** What is wrong with the service, in words, above all numbers. */
function Warnings() {
  const text = t(texts)
  const { store, rules } = status.value ?? {}
  const isAway = (store?.breakers?.open ?? 0) + (store?.breakers?.["half-open"] ?? 0) > 0
  const warnings = [...(isAway ? [text.storeAway] : []), ...(rules?.stale ? [text.stale] : [])]
  return (
    <div role="alert">
      {warnings.map((warning) => (
        <p key={warning} class="banner degraded">
          <Icon name="warning" />
          {warning}
        </p>
      ))}
    </div>
  )
}

interface TopKey {
  readonly rule: string
  readonly key: string
  readonly count: number
}

/** The keys that were denied most often. Not shown while nobody is denied. */
function MostDenied() {
  const text = t(texts)
  const { reply } = useAskedAgain<readonly TopKey[]>("top?by=denied&limit=5", 5_000)
  const rows = reply?.data ?? []
  if (rows.length === 0) return null
  return (
    <Panel title={text.mostDenied} actions={<a href={href("clients")}>{text.allClients}</a>}>
      <ol class="most-denied">
        {rows.map(({ rule, key, count }) => (
          <li key={`${rule} ${key}`}>
            <a href={href("clients", [rule, key])} title={`${rule}: ${key}`}>
              {key}
            </a>
            <span class="numeric">{whole(count)}</span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}
