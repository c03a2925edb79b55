import type { ComponentChildren } from "preact"
import { useId } from "preact/hooks"

/** Attributes that connect an input with its label, hint and error. */
export interface FieldAttributes {
  readonly id: string
  readonly "aria-describedby"?: string
  readonly "aria-invalid"?: true
}

export interface FieldProps {
  readonly label: string
  readonly hint?: string | undefined
  /** What is wrong with the value. */
  readonly error?: string | undefined
  /** Renders the input: `{(attributes) => <input {...attributes} />}`. */
  readonly children: (attributes: FieldAttributes) => ComponentChildren
}

export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId()
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ")
  return (
    <div class={error === undefined ? "field" : "field has-error"}>
      <label for={id}>{label}</label>
      {children({
        id,
        ...(described === "" ? {} : { "aria-describedby": described }),
        ...(error === undefined ? {} : { "aria-invalid": true }),
      })}
      {hint && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error !== undefined && (
        <p class="error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  )
}
