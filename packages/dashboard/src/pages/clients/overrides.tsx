import { useState } from "preact/hooks"
import type { OverrideSpec, RuleSpec } from "sluice/rules"
import { t } from "../../browser/i18n.js"
import { Button } from "../../parts/button.js"
import { Failure, Loading } from "../../parts/empty.js"
import { Panel } from "../../parts/panel.js"
import { toast, toastProblem } from "../../parts/toast.js"
import { ask, path } from "../../service/api.js"
import { Problem } from "../../service/problem.js"
import { mayEdit } from "../../service/session.js"
import { useAsked } from "../../service/use-asked.js"
import { clientOf } from "./key-state.js"
import { OverrideDialog } from "./override-dialog.js"
import { texts } from "./texts.js"

/** The overrides of the client that a key stands for. */
export function Overrides({ rule, name }: { readonly rule: string; readonly name: string }) {
  const text = t(texts)
  const client = clientOf(name)
  if (client === undefined)
    return (
      <Panel title={text.overrides}>
        <p class="soft">{text.overrideNone}</p>
      </Panel>
    )
  return <ClientOverrides rule={rule} client={client} />
}

interface ClientOverridesProps {
  readonly rule: string
  readonly client: string
}

function ClientOverrides({ rule, client }: ClientOverridesProps) {
  const text = t(texts)
  const known = useAsked<readonly OverrideSpec[]>("overrides")
  const asked = useAsked<RuleSpec>(path("rules", rule))
  const [isOpen, setOpen] = useState(false)
  const [busy, setBusy] = useState(false)
  const reload = () => {
    known.reload()
    asked.reload()
  }
  /** Sends a change and tells the user whether it succeeded. */
  const change = async (send: () => Promise<unknown>, done: string): Promise<void> => {
    setBusy(true)
    try {
      await send()
      toast(done)
      setOpen(false)
    } catch (error) {
      if (error instanceof Problem && error.isConflict) toast(text.conflict, "failed")
      else toastProblem(error)
    }
    reload()
    setBusy(false)
  }
  // The etag of the overrides that are shown: the service refuses a change that is based on older ones.
  const etag = known.reply?.etag ?? "*"
  // A client can have several overrides. Sending all others removes exactly this one.
  const remove = (override: OverrideSpec) => {
    const others = known.reply?.data.filter((other) => other !== override)
    return change(() => ask("PUT", "overrides", { body: others, ifMatch: etag }), text.removeDone)
  }
  const problem = known.problem ?? asked.problem
  if (known.reply === undefined || asked.reply === undefined)
    return problem === undefined ? <Loading /> : <Failure problem={problem} onRetry={reload} />
  const own = known.reply.data.filter((override) => override.client === client)
  return (
    <Panel
      title={text.overrides}
      note={<code>{client}</code>}
      actions={
        mayEdit.value && (
          <Button size="small" onClick={() => setOpen(true)}>
            {text.override}
          </Button>
        )
      }
    >
      {own.length === 0 ? (
        <p class="soft">{text.noOverrides}</p>
      ) : (
        <ul class="overrides">
          {own.map((override) => (
            <li key={JSON.stringify(override)}>
              <span>
                <code>{override.rule ?? "*"}</code> {summaryOf(override)}
              </span>
              {mayEdit.value && (
                <Button size="small" kind="danger" busy={busy} onClick={() => void remove(override)}>
                  {text.remove}
                </Button>
              )}
            </li>
          ))}
        </ul>
      )}
      {isOpen && (
        <OverrideDialog
          client={client}
          rule={asked.reply.data}
          busy={busy}
          onClose={() => setOpen(false)}
          onSave={(override, comment) => {
            const query = comment === "" ? "" : `?comment=${encodeURIComponent(comment)}`
            void change(
              () => ask("POST", `overrides${query}`, { body: override, ifMatch: etag }),
              text.overrideDone,
            )
          }}
        />
      )}
    </Panel>
  )
}

function summaryOf({ limits, until }: OverrideSpec): string {
  const text = t(texts)
  const numbers =
    limits === "unlimited"
      ? text.overrideUnlimited
      : limits.map(({ limit, window }) => `${limit}/${window}`).join(", ")
  return until === undefined ? numbers : `${numbers}, ${text.overrideUntil(String(until))}`
}
