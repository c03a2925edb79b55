// Shows the changes before they are saved, and those that somebody else saved first.

import { useState } from "preact/hooks"
import { t } from "../../../browser/i18n.js"
import { Button } from "../../../parts/button.js"
import { Dialog } from "../../../parts/dialog.js"
import { Diff } from "../../../parts/diff.js"
import { Field } from "../../../parts/field.js"
import { Icon } from "../../../parts/icon.js"
import { problemText } from "../../../parts/toast.js"
import { texts } from "../../../rules/texts.js"
import type { Conflict } from "./conflict.js"

/** A conflict, and what it means for the edited text. */
export interface MetConflict {
  readonly with: Conflict
  readonly means: string
  /** Whether they changed the same content, so that saving overwrites it. */
  readonly isSame: boolean
}

export interface ReviewProps {
  readonly before: string
  readonly after: string
  /** Set if somebody else saved first. */
  readonly conflict: MetConflict | undefined
  /** Rejects if the changes were not saved. */
  readonly onSave: (comment: string) => Promise<void>
  readonly onTakeTheirs: () => void
  readonly onClose: () => void
}

export function Review({ before, after, conflict, onSave, onTakeTheirs, onClose }: ReviewProps) {
  const text = t(texts)
  const [comment, setComment] = useState("")
  const [isBusy, setBusy] = useState(false)
  const [refused, setRefused] = useState<string | undefined>()
  const save = async () => {
    if (isBusy) return
    setBusy(true)
    try {
      await onSave(comment.trim())
      setRefused(undefined)
    } catch (problem) {
      setRefused(problemText(problem))
    }
    setBusy(false)
  }
  return (
    <Dialog
      wide
      title={conflict === undefined ? text.reviewTitle : text.conflictTitle}
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            {text.goOn}
          </Button>
          {conflict !== undefined && <Button onClick={onTakeTheirs}>{text.takeTheirs}</Button>}
          <Button kind="primary" busy={isBusy} onClick={() => void save()}>
            {conflict?.isSame ? text.saveMine : text.save}
          </Button>
        </>
      }
    >
      {conflict !== undefined && (
        <div class="rules-conflict" role="alert">
          <Icon name="warning" />
          <div>
            <p>{text.conflict(conflict.with.who, conflict.with.revision)}</p>
            {conflict.with.comment !== undefined && <p>{text.conflictSaid(conflict.with.comment)}</p>}
            <p>{conflict.means}</p>
          </div>
        </div>
      )}
      <Diff label={text.diffLabel} before={before} after={after} />
      <CommentField value={comment} onChange={setComment} onEnter={() => void save()} />
      {refused !== undefined && (
        <p class="rules-error" role="alert">
          {refused}
        </p>
      )}
    </Dialog>
  )
}

/** The query string with the comment of a change, or an empty string. */
export function commentQuery(comment: string): string {
  return comment === "" ? "" : `?${new URLSearchParams({ comment })}`
}

export interface CommentFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
  /** Called when the user presses Enter. */
  readonly onEnter: () => void
}

/** The comment that the history stores with a change. */
export function CommentField({ value, onChange, onEnter }: CommentFieldProps) {
  const text = t(texts)
  return (
    <Field label={text.comment} hint={text.commentHint}>
      {(attributes) => (
        <input
          {...attributes}
          type="text"
          maxLength={500}
          autocomplete="off"
          value={value}
          onInput={({ currentTarget }) => onChange(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key === "Enter" && !event.isComposing) onEnter()
          }}
        />
      )}
    </Field>
  )
}
