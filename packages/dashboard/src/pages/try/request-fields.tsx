import { useRef } from "preact/hooks"
import { t } from "../../browser/i18n.js"
import { Field } from "../../parts/field.js"
import type { FieldName, RequestForm } from "./request-form.js"
import { texts } from "./texts.js"

export interface RequestFieldsProps {
  readonly form: RequestForm
  readonly onChange: (form: RequestForm) => void
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

export function RequestFields({ form, onChange }: RequestFieldsProps) {
  const text = t(texts).fields
  const input = (name: FieldName, label: string, hint?: string) => (
    <Field label={label} hint={hint}>
      {(attributes) => (
        <input
          {...attributes}
          type="text"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={form[name]}
          onInput={({ currentTarget }) => onChange({ ...form, [name]: currentTarget.value })}
        />
      )}
    </Field>
  )
  // Stays open once a field had a value.
  const isOpen = useRef(false)
  isOpen.current ||= [form.host, form.tier, form.headers, form.cost].some((value) => value !== "")
  const methods = METHODS.includes(form.method) ? METHODS : [form.method, ...METHODS]
  return (
    <>
      <div class="try-line">
        <Field label={text.method}>
          {(attributes) => (
            <select
              {...attributes}
              value={form.method}
              onChange={({ currentTarget }) => onChange({ ...form, method: currentTarget.value })}
            >
              {methods.map((method) => (
                <option key={method} value={method}>
                  {method}
                </option>
              ))}
            </select>
          )}
        </Field>
        {input("path", text.path, text.pathHint)}
      </div>
      {input("ip", text.ip)}
      {input("apiKey", text.apiKey, text.apiKeyHint)}
      {input("user", text.user, text.userHint)}
      <details open={isOpen.current}>
        <summary>{text.more}</summary>
        <div class="try-more">
          {input("host", text.host)}
          {input("tier", text.tier)}
          <Field label={text.headers} hint={text.headersHint}>
            {(attributes) => (
              <textarea
                {...attributes}
                class="mono"
                rows={3}
                spellcheck={false}
                value={form.headers}
                onInput={({ currentTarget }) => onChange({ ...form, headers: currentTarget.value })}
              />
            )}
          </Field>
          {input("cost", text.cost, text.costHint)}
        </div>
      </details>
    </>
  )
}
