import { whole } from "../../format.js"
import { t } from "../../i18n.js"
import { Panel } from "../../parts/panel.js"
import { href } from "../../router.js"
import { useAskedAgain } from "../../use-asked.js"
import { texts } from "./texts.js"

interface TopKey {
  readonly rule: string
  readonly key: string
  readonly count: number
}

/** Whom to look at first. Nothing at all while nobody is denied. */
export function MostDenied() {
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
