import "./page.css"
import { useEffect, useState } from "preact/hooks"
import { t } from "../../browser/i18n.js"
import { go, href, route } from "../../browser/router.js"
import { Button } from "../../parts/button.js"
import { Empty } from "../../parts/empty.js"
import { PageHead, Panel } from "../../parts/panel.js"
import { problemText } from "../../parts/toast.js"
import { ask } from "../../service/api.js"
import { onEvent } from "../../service/live.js"
import { Answer } from "./answer.js"
import type { Explanation } from "./explanation.js"
import { RequestFields } from "./request-fields.js"
import { formFrom, HeaderMistake, queryOf, questionOf, type RequestForm } from "./request-form.js"
import { RuleReasons } from "./rule-reasons.js"
import { texts } from "./texts.js"
import { Verdict } from "./verdict.js"

export function Page() {
  const text = t(texts)
  const [form, setForm] = useState<RequestForm>(() => formFrom(route.value.query))
  const [explanation, setExplanation] = useState<Explanation | undefined>()
  const [mistake, setMistake] = useState<string | undefined>()
  const [isBusy, setBusy] = useState(false)

  const explain = async (asked: RequestForm) => {
    setBusy(true)
    try {
      const { data } = await ask<Explanation>("POST", "explain", { body: questionOf(asked) })
      setExplanation(data)
      setMistake(undefined)
    } catch (problem) {
      setExplanation(undefined)
      setMistake(problem instanceof HeaderMistake ? text.headerLine(problem.line) : problemText(problem))
    }
    setBusy(false)
  }

  // An address with a request is explained at once.
  const { query } = route.value
  useEffect(() => {
    if (!query.has("path")) return
    const asked = { ...formFrom(query), apiKey: form.apiKey, headers: form.headers }
    setForm(asked)
    void explain(asked)
  }, [query])
  // Explain again when the rules change.
  useEffect(() => onEvent("rules", () => explanation !== undefined && void explain(form)))

  const submit = (event: Event) => {
    event.preventDefault()
    const address = queryOf(form)
    if (href("try", [], address) === location.hash) void explain(form)
    else go("try", [], address)
  }

  return (
    <>
      <PageHead title={text.title} lead={text.lead} />
      <div class="try">
        <Panel title={text.request}>
          <form class="try-form" onSubmit={submit}>
            <RequestFields form={form} onChange={setForm} />
            <Button kind="primary" submit busy={isBusy}>
              {text.explain}
            </Button>
            {mistake !== undefined && (
              <p class="try-mistake" role="alert">
                {mistake}
              </p>
            )}
          </form>
        </Panel>
        <div class="try-answer">
          {explanation === undefined ? (
            <Examples />
          ) : (
            <>
              <Verdict explanation={explanation} />
              <RuleReasons explanation={explanation} />
              <Answer response={explanation.response} />
              <Seen explanation={explanation} />
            </>
          )}
        </div>
      </div>
    </>
  )
}

const EXAMPLES = [
  { method: "POST", path: "/login", ip: "203.0.113.7" },
  { method: "GET", path: "/v1/items/7", ip: "203.0.113.7" },
  { method: "GET", path: "/v1/search?q=a", ip: "198.51.100.4" },
]

function Examples() {
  const text = t(texts)
  return (
    <section class="panel" aria-label={text.examples}>
      <Empty title={text.nothing}>
        <p>{text.nothingMeans}</p>
        <ul class="try-examples">
          {EXAMPLES.map((example) => (
            <li key={example.path}>
              <a class="button" href={href("try", [], example)}>
                <code>
                  {example.method} {example.path}
                </code>
              </a>
            </li>
          ))}
        </ul>
      </Empty>
    </section>
  )
}

/** The request as rules match it: with a canonical path, the subnet of the address, and a hashed API key. */
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
