// `#/rules`, `#/rules/rule/<id>`, `#/rules/new`, `#/rules/set`, `#/rules/history`.

import "./page.css"
import { Failure, Loading } from "../../parts/empty.js"
import { route } from "../../router.js"
import { Revisions } from "./revisions.js"
import { RuleEditor } from "./rule-editor.js"
import { RuleList } from "./rule-list.js"
import { SetEditor } from "./set-editor.js"
import { useRules } from "./use-rules.js"

export function Page() {
  const { reply, problem, reload } = useRules()
  if (reply === undefined)
    return problem === undefined ? <Loading /> : <Failure problem={problem} onRetry={reload} />
  const set = reply.data
  const etag = reply.etag ?? "*"
  const [place, id] = route.value.path
  if (place === "new") return <RuleEditor key="new" id={undefined} set={set} etag={etag} />
  if (place === "set") return <SetEditor set={set} etag={etag} />
  if (place === "history") return <Revisions set={set} etag={etag} />
  if (place !== "rule" || id === undefined) return <RuleList set={set} etag={etag} reload={reload} />
  return <RuleEditor key={id} id={id} set={set} etag={etag} />
}
