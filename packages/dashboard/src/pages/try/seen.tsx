import { t } from "../../i18n.js"
import { Panel } from "../../parts/panel.js"
import type { Explanation } from "./explanation.js"
import { texts } from "./texts.js"

/** The request in the one form that rules are matched with: the path resolved, the address cut to its subnet, the key hashed. */
export function Seen({ explanation: { request } }: { readonly explanation: Explanation }) {
  const text = t(texts)
  const fields = Object.entries(text.seenFields).filter(([name]) => (request[name] ?? "") !== "")
  return (
    <Panel title={text.seen}>
      <dl class="try-seen">
        {fields.map(([name, label]) => (
          <div key={name}>
            <dt>{label}</dt>
            <dd>
              <code>{request[name]}</code>
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}
