import { useState } from "preact/hooks"
import { timeOfDay } from "../../browser/format.js"
import { t } from "../../browser/i18n.js"
import { Button } from "../../parts/button.js"
import { toast, toastProblem } from "../../parts/toast.js"
import { ask } from "../../service/api.js"
import { mayEdit } from "../../service/session.js"
import { askStatus, status } from "../../service/status.js"
import { texts } from "./texts.js"

/** The button that starts sample traffic. The service offers it only with its example rules, and only to editors. */
export function SampleTraffic({ primary }: { readonly primary?: boolean }) {
  const text = t(texts)
  const [busy, setBusy] = useState(false)
  const sample = status.value?.sampleTraffic
  if (sample === undefined || !mayEdit.value) return null
  const run = async (method: "POST" | "DELETE") => {
    setBusy(true)
    try {
      await ask(method, "sample-traffic")
      if (method === "POST") toast(text.sampleStarted)
      await askStatus()
    } catch (error) {
      toastProblem(error)
    }
    setBusy(false)
  }
  if (sample.endsAt !== undefined)
    return (
      <span class="sample">
        {text.sampleRuns(timeOfDay(sample.endsAt))}
        <Button size="small" busy={busy} onClick={() => void run("DELETE")}>
          {text.sampleStop}
        </Button>
      </span>
    )
  return (
    <Button
      kind={primary ? "primary" : "plain"}
      busy={busy}
      title={text.sampleHint}
      onClick={() => void run("POST")}
    >
      {text.sample}
    </Button>
  )
}
