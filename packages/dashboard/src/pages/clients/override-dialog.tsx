import { useState } from "preact/hooks"
import type { LimitSpec, OverrideSpec, RuleSpec } from "sluice/rules"
import { t } from "../../browser/i18n.js"
import { Button } from "../../parts/button.js"
import { Dialog } from "../../parts/dialog.js"
import { Field } from "../../parts/field.js"
import { texts } from "./texts.js"

interface OverrideDialogProps {
  readonly client: string
  /** The rule whose limits are the starting values. */
  readonly rule: RuleSpec
  readonly busy: boolean
  readonly onClose: () => void
  readonly onSave: (override: OverrideSpec, comment: string) => void
}

/** Edits the limits of one client, starting with those of the rule. */
export function OverrideDialog({ client, rule, busy, onClose, onSave }: OverrideDialogProps) {
  const text = t(texts)
  const own = Array.isArray(rule.limits) ? (rule.limits as readonly LimitSpec[]) : []
  const [limits, setLimits] = useState(own)
  const [isUnlimited, setUnlimited] = useState(false)
  const [until, setUntil] = useState("")
  const [comment, setComment] = useState("")
  const save = (event: Event) => {
    event.preventDefault()
    if (busy) return
    const override = {
      client,
      rule: rule.id,
      limits: isUnlimited ? "unlimited" : [...limits],
    } as OverrideSpec
    onSave(until === "" ? override : { ...override, until }, comment.trim())
  }
  const change = (at: number, changed: Partial<LimitSpec>) =>
    setLimits(limits.map((limit, i) => (i === at ? { ...limit, ...changed } : limit)))
  return (
    <Dialog
      title={text.overrideTitle}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{text.cancel}</Button>
          <Button kind="primary" submit form="override" busy={busy}>
            {text.save}
          </Button>
        </>
      }
    >
      <form id="override" class="override-form" onSubmit={save}>
        <p>{text.overrideText(client, rule.id)}</p>
        <label class="check">
          <input
            type="checkbox"
            checked={isUnlimited}
            onChange={({ currentTarget }) => setUnlimited(currentTarget.checked)}
          />
          {text.unlimited}
        </label>
        {!isUnlimited &&
          limits.map((limit, i) => (
            <LimitFields
              key={nameOf(own[i] ?? limit)}
              name={nameOf(own[i] ?? limit)}
              limit={limit}
              onChange={(changed) => change(i, changed)}
            />
          ))}
        <Field label={text.until} hint={text.untilHint}>
          {(attributes) => (
            <input
              {...attributes}
              type="date"
              value={until}
              onInput={({ currentTarget }) => setUntil(currentTarget.value)}
            />
          )}
        </Field>
        <Field label={text.comment} hint={text.commentHint}>
          {(attributes) => (
            <input
              {...attributes}
              maxLength={500}
              value={comment}
              onInput={({ currentTarget }) => setComment(currentTarget.value)}
            />
          )}
        </Field>
      </form>
    </Dialog>
  )
}

interface LimitFieldsProps {
  readonly name: string
  readonly limit: LimitSpec
  readonly onChange: (changed: Partial<LimitSpec>) => void
}

function LimitFields({ name, limit, onChange }: LimitFieldsProps) {
  const text = t(texts)
  return (
    <div class="limit-fields">
      <Field label={text.limitNumber(name)}>
        {(attributes) => (
          <input
            {...attributes}
            type="number"
            min={1}
            required
            value={limit.limit}
            onInput={({ currentTarget }) => onChange({ limit: currentTarget.valueAsNumber })}
          />
        )}
      </Field>
      {limit.burst !== undefined && (
        <Field label={text.limitBurst(name)}>
          {(attributes) => (
            <input
              {...attributes}
              type="number"
              min={1}
              required
              value={limit.burst}
              onInput={({ currentTarget }) => onChange({ burst: currentTarget.valueAsNumber })}
            />
          )}
        </Field>
      )}
      <Field label={text.limitWindow(name)}>
        {(attributes) => (
          <input
            {...attributes}
            required
            value={String(limit.window ?? "")}
            onInput={({ currentTarget }) => onChange({ window: currentTarget.value })}
          />
        )}
      </Field>
    </div>
  )
}

/** The name of a limit, or its default name. */
function nameOf({ name, limit, window }: LimitSpec): string {
  return name ?? `${limit}/${window}`
}
