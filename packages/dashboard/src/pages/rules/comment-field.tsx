import { t } from "../../i18n.js"
import { Field } from "../../parts/field.js"
import { texts } from "./texts.js"

export interface CommentFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
  /** Enter, as in a form with one field. */
  readonly onEnter: () => void
}

/** Why a change is made, for the history. */
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
