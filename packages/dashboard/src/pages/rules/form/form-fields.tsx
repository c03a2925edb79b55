// The inputs of the form. Each edits the value at one path, and shows the mistakes that the service found there.

import { type ComponentChildren, createContext } from "preact"
import { useContext, useEffect, useId, useState } from "preact/hooks"
import { t } from "../../../browser/i18n.js"
import { Field } from "../../../parts/field.js"
import { messageAt } from "../../../rules/problems.js"
import { texts } from "../../../rules/texts.js"
import type { RuleProblem } from "../../../service/problem.js"
import type { Path } from "../../../yaml-editor/place.js"
import { type FormValue, listFrom, numberFrom, textOfList, valueAt } from "./form-value.js"

export interface Form {
  readonly value: FormValue
  readonly problems: readonly RuleProblem[]
  readonly set: (path: Path, next: unknown) => void
}

export const FormContext = createContext<Form>({ value: {}, problems: [], set: () => {} })

interface InputProps {
  readonly label: string
  readonly path: Path
  readonly hint?: string
  readonly placeholder?: string
  /** The id of an element that shows the mistakes of a whole row, for narrow inputs. */
  readonly errorIn?: string
}

export function TextInput(props: InputProps) {
  return <Input {...props} read={(typed) => typed || undefined} show={shownText} />
}

export function NumberInput(props: InputProps) {
  return <Input {...props} isNumber read={numberFrom} show={shownText} />
}

/** Several values separated by commas. With `asList`, a single value is a list too. */
export function ListInput({ asList = false, ...props }: InputProps & { readonly asList?: boolean }) {
  const read = (typed: string) => {
    const list = listFrom(typed)
    return asList && list !== undefined ? [list].flat() : list
  }
  return <Input {...props} read={read} show={textOfList} />
}

interface ReadProps extends InputProps {
  readonly isNumber?: boolean
  readonly read: (typed: string) => unknown
  readonly show: (value: unknown) => string
}

function Input({ label, path, hint, placeholder, errorIn, isNumber = false, read, show }: ReadProps) {
  const { value, problems, set } = useContext(FormContext)
  const shown = show(valueAt(value, path))
  const error = messageAt(problems, path)
  // The typed text is kept: `GET, ` is not a list of two yet, but must not lose its comma.
  const [typed, setTyped] = useState(shown)
  useEffect(() => {
    setTyped((before) => (show(read(before)) === shown ? before : shown))
  }, [shown, read, show])
  return (
    <Field label={label} hint={hint} error={errorIn === undefined ? error : undefined}>
      {(attributes) => (
        <input
          {...attributes}
          {...outside(error, errorIn)}
          type="text"
          inputMode={isNumber ? "numeric" : "text"}
          autocomplete="off"
          spellcheck={false}
          placeholder={placeholder}
          value={typed}
          onInput={({ currentTarget }) => {
            setTyped(currentTarget.value)
            set(path, read(currentTarget.value))
          }}
        />
      )}
    </Field>
  )
}

export interface ChoiceProps {
  readonly label: string
  readonly path: Path
  readonly options: readonly string[]
  /** The value that applies if none is chosen. */
  readonly standard: string
  readonly errorIn?: string
}

/** A choice among constants of the rule language. They are not translated. */
export function Choice({ label, path, options, standard, errorIn }: ChoiceProps) {
  const { value, problems, set } = useContext(FormContext)
  const chosen = valueAt(value, path)
  const error = messageAt(problems, path)
  return (
    <Field label={label} error={errorIn === undefined ? error : undefined}>
      {(attributes) => (
        <select
          {...attributes}
          {...outside(error, errorIn)}
          value={typeof chosen === "string" ? chosen : ""}
          onChange={({ currentTarget }) => set(path, currentTarget.value || undefined)}
        >
          <option value="">{t(texts).fields.standard(standard)}</option>
          {options.map((option) => (
            <option key={option} value={option}>
              {option}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

interface CheckboxProps {
  readonly label: string
  readonly path: Path
}

/** A setting that is off unless it is checked. */
export function Checkbox({ label, path }: CheckboxProps) {
  const { value, problems, set } = useContext(FormContext)
  const error = messageAt(problems, path)
  return (
    <div class="field">
      <label class="rules-check">
        <input
          type="checkbox"
          checked={valueAt(value, path) === true}
          onChange={({ currentTarget }) => set(path, currentTarget.checked || undefined)}
        />
        {label}
      </label>
      {error !== undefined && <p class="rules-error">{error}</p>}
    </div>
  )
}

/** Connects an input with an error that is shown elsewhere. */
function outside(error: string | undefined, errorIn: string | undefined) {
  return error === undefined || errorIn === undefined
    ? {}
    : ({ "aria-invalid": true, "aria-describedby": errorIn } as const)
}

function shownText(value: unknown): string {
  return value === undefined || value === null ? "" : String(value)
}

export interface SectionProps {
  readonly title: string
  readonly hint?: string
  /** The number of columns on wide screens. */
  readonly columns?: 2 | 3
  readonly children: ComponentChildren
}

/** A section of the form, with its title on the left and its fields on the right. */
export function Section({ title, hint, columns, children }: SectionProps) {
  const heading = useId()
  return (
    <section class="rules-section" aria-labelledby={heading}>
      <div>
        <h2 id={heading}>{title}</h2>
        {hint !== undefined && <p class="soft">{hint}</p>}
      </div>
      <div class={`rules-fields ${columns ? "columns" : ""} ${columns === 3 ? "three" : ""}`}>{children}</div>
    </section>
  )
}
