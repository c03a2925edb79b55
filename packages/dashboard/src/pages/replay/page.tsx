import { useState } from "preact/hooks"
import { t } from "../../browser/i18n.js"
import { Button } from "../../parts/button.js"
import { Empty } from "../../parts/empty.js"
import { PageHead, Panel } from "../../parts/panel.js"
import { problemText, toastProblem } from "../../parts/toast.js"
import { ask } from "../../service/api.js"
import { mayEdit } from "../../service/session.js"
import "./page.css"
import { freeName, MAX_CANDIDATES, type Start, startedFrom } from "./candidates.js"
import { formatOf, LogChooser } from "./log-choice.js"
import { Result } from "./result.js"
import { RuleChooser } from "./rule-choice.js"
import { texts } from "./texts.js"
import { drafts, log, report, useReplay, withInForce } from "./use-replay.js"

export function Page() {
  const text = t(texts)
  const [isTried, setTried] = useState(false)
  const { step, problem, start, cancel } = useReplay()

  const own = drafts.value.map(({ name }) => name)
  const names = [...(withInForce.value ? [text.inForce] : []), ...own]
  const isMissing = log.value.source === "file" && log.value.file === undefined
  const isWrong = isMissing || names.length === 0 || new Set(names).size < names.length || names.includes("")

  const add = async (from: Start) => {
    try {
      const { data } = await ask<string>("GET", "rules", { accept: "application/yaml" })
      const id = 1 + Math.max(0, ...drafts.value.map((draft) => draft.id))
      const name = freeName(text.names[from], [text.inForce, ...own])
      drafts.value = [...drafts.value, { id, name, yaml: startedFrom(data, from) }]
    } catch (error) {
      toastProblem(error)
    }
  }
  const run = () => {
    setTried(true)
    if (isWrong) return
    const format = formatOf(log.value)
    const candidates = [
      ...(withInForce.value ? [{ name: text.inForce }] : []),
      ...drafts.value.map(({ name, yaml }) => ({ name, rules: yaml })),
    ]
    const plan = { candidates, ...(format === undefined ? {} : { format }) }
    void start(plan, log.value.source === "sample" ? undefined : log.value.file)
  }

  return (
    <div class="replay">
      <PageHead title={text.title} lead={text.lead} />
      {mayEdit.value ? (
        <form
          class="replay-plan"
          onSubmit={(event) => {
            event.preventDefault()
            run()
          }}
        >
          <Panel title={text.log}>
            <LogChooser
              choice={log.value}
              onChange={(choice) => {
                log.value = choice
              }}
              error={isTried && isMissing ? text.noFile : undefined}
              text={text}
            />
          </Panel>
          <Panel title={text.rules} note={text.rulesNote(names.length, MAX_CANDIDATES)}>
            <RuleChooser
              withInForce={withInForce.value}
              drafts={drafts.value}
              onInForce={(chosen) => {
                withInForce.value = chosen
              }}
              onAdd={add}
              onChange={(draft) => {
                drafts.value = drafts.value.map((known) => (known.id === draft.id ? draft : known))
              }}
              onRemove={({ id }) => {
                drafts.value = drafts.value.filter((known) => known.id !== id)
              }}
              text={text}
            />
            {isTried && names.length === 0 && <p role="alert">{text.nothing}</p>}
          </Panel>
          <div class="replay-run">
            <Button kind="primary" submit busy={step !== "idle"}>
              {text.run}
            </Button>
            {step !== "idle" && <Button onClick={cancel}>{text.cancel}</Button>}
            <span role="status" class="soft">
              {step === "packing" ? text.packing : step === "running" ? text.running : ""}
            </span>
          </div>
        </form>
      ) : (
        <Panel title={text.log}>
          <p>{text.needsEditor}</p>
        </Panel>
      )}
      {problem !== undefined && (
        <p class="replay-problem" role="alert">
          {problemText(problem)}
        </p>
      )}
      {report.value === undefined ? (
        mayEdit.value &&
        problem === undefined && (
          <Empty title={text.empty}>
            <p>{text.emptyHint}</p>
          </Empty>
        )
      ) : (
        <Result report={report.value} text={text} />
      )}
    </div>
  )
}
