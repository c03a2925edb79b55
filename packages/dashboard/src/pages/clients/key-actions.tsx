import { useState } from "preact/hooks"
import { t } from "../../browser/i18n.js"
import { Button } from "../../parts/button.js"
import { Dialog } from "../../parts/dialog.js"
import { Field } from "../../parts/field.js"
import { toast, toastProblem } from "../../parts/toast.js"
import { ask, path } from "../../service/api.js"
import { mayEdit } from "../../service/session.js"
import type { KeyState } from "./key-state.js"
import { texts } from "./texts.js"

interface KeyActionsProps {
  readonly state: KeyState
  /** Called with the new state of the key. */
  readonly onAnswer: (state: KeyState) => void
}

/** The buttons that reset, block and unblock a key. */
export function KeyActions({ state, onAnswer }: KeyActionsProps) {
  const text = t(texts)
  const [busy, setBusy] = useState(false)
  const [isBlocking, setBlocking] = useState(false)
  if (!mayEdit.value) return <span class="soft">{text.readOnly}</span>
  const act = async (method: "POST" | "DELETE", action: "reset" | "block", done: string, body?: object) => {
    setBusy(true)
    try {
      const address = `${path("keys", state.rule, state.key)}/${action}`
      const { data } = await ask<KeyState>(method, address, body === undefined ? {} : { body })
      onAnswer(data)
      toast(done)
      setBlocking(false)
    } catch (error) {
      toastProblem(error)
    }
    setBusy(false)
  }
  return (
    <>
      <Button busy={busy} title={text.resetText} onClick={() => void act("POST", "reset", text.resetDone)}>
        {text.reset}
      </Button>
      {state.blockedForMs === undefined ? (
        <Button kind="danger" onClick={() => setBlocking(true)}>
          {text.block}
        </Button>
      ) : (
        <Button busy={busy} onClick={() => void act("DELETE", "block", text.unblockDone)}>
          {text.unblock}
        </Button>
      )}
      {isBlocking && (
        <BlockDialog
          busy={busy}
          onClose={() => setBlocking(false)}
          onBlock={(duration) => void act("POST", "block", text.blockDone, { duration })}
        />
      )}
    </>
  )
}

interface BlockDialogProps {
  readonly busy: boolean
  readonly onClose: () => void
  readonly onBlock: (duration: string) => void
}

function BlockDialog({ busy, onClose, onBlock }: BlockDialogProps) {
  const text = t(texts)
  const [duration, setDuration] = useState("10m")
  return (
    <Dialog
      title={text.blockTitle}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{text.cancel}</Button>
          <Button kind="danger" busy={busy} onClick={() => onBlock(duration)}>
            {text.block}
          </Button>
        </>
      }
    >
      <p>{text.blockText}</p>
      <Field label={text.duration}>
        {(attributes) => (
          <select
            {...attributes}
            value={duration}
            onChange={({ currentTarget }) => setDuration(currentTarget.value)}
          >
            {Object.entries(text.durations).map(([value, name]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </select>
        )}
      </Field>
    </Dialog>
  )
}
