import { t } from "../../browser/i18n.js"
import { Panel } from "../../parts/panel.js"
import { Table } from "../../parts/table.js"
import type { Explanation } from "./explanation.js"
import { texts } from "./texts.js"

/** The status, headers and body that the client would receive. */
export function Answer({ response }: Pick<Explanation, "response">) {
  const text = t(texts)
  const { status, headers, body } = response
  return (
    <Panel title={text.answer} note={text.answerNote}>
      <p class="try-status">
        {headers.length === 0 ? text.noHeaders : status === 200 ? text.passes : text.status(status)}
      </p>
      {headers.length > 0 && (
        <Table
          caption={text.answer}
          rows={headers}
          keyOf={([name]) => name}
          columns={[
            { title: text.header, cell: ([name]) => <code>{name}</code> },
            { title: text.value, cell: ([, value]) => <code class="try-value">{value}</code> },
          ]}
        />
      )}
      {body !== undefined && (
        <div class="try-answer-body">
          <h3>{text.body}</h3>
          <pre class="try-body">{bodyText(body)}</pre>
        </div>
      )}
    </Panel>
  )
}

/** Formats JSON on several lines. Other text is unchanged. */
function bodyText(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), undefined, 2)
  } catch {
    return body
  }
}
