// `#/rules`, `#/rules/rule/<id>`, `#/rules/new`, `#/rules/set`, `#/rules/history`.

import "./page.css"
import { useEffect } from "preact/hooks"
import type { RuleSetDocument } from "sluice/rules"
import { route } from "../../browser/router.js"
import { Failure, Loading } from "../../parts/empty.js"
import { onEvent } from "../../service/live.js"
import { useAsked } from "../../service/use-asked.js"
import { RuleEditor } from "./edit/rule-editor.js"
import { SetEditor } from "./edit/set-editor.js"
import { Revisions } from "./revisions.js"
import { RuleList } from "./rule-list.js"

export function Page() {
  const { reply, problem, reload } = useAsked<RuleSetDocument>("rules")
  useEffect(() => onEvent("rules", reload), [reload])
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
