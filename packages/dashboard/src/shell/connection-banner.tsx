import { timeOfDay } from "../browser/format.js"
import { t } from "../browser/i18n.js"
import { Icon } from "../parts/icon.js"
import { connection, lastHeard } from "../service/live.js"
import { texts } from "./texts.js"

/** Tells that the service is not reachable, and how old the data on the page is. */
export function ConnectionBanner() {
  return (
    <div role="alert">
      {connection.value === "lost" && (
        <p class="banner">
          <Icon name="warning" />
          {lastHeard.peek() === 0 ? t(texts).lostNever : t(texts).lostLong(timeOfDay(lastHeard.peek()))}
        </p>
      )}
    </div>
  )
}
