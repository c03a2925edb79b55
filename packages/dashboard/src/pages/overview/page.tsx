import "./page.css"
import { t } from "../../i18n.js"
import { Badge } from "../../parts/badge.js"
import { Empty } from "../../parts/empty.js"
import { Icon } from "../../parts/icon.js"
import { PageHead } from "../../parts/panel.js"
import { route } from "../../router.js"
import { status } from "../../status.js"
import { hasTraffic } from "../../traffic/traffic.js"
import { Charts } from "./charts.js"
import { Figures } from "./figures.js"
import { MostDenied } from "./most-denied.js"
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
        {status.value && (
          <Badge kind={status.value.status === "ready" ? "allowed" : "degraded"}>
            {text.status[status.value.status]}
          </Badge>
        )}
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

/** What is not as it should be, in words, above all numbers. */
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
