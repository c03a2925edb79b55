// The choice of the log and its format.

import { bytes } from "../../browser/format.js"
import { Field } from "../../parts/field.js"
import { Segmented } from "../../parts/segmented.js"
import type { Plan } from "./send.js"
import type { ReplayText } from "./texts.js"

export type FormatChoice = "" | keyof ReplayText["formats"]

export interface LogChoice {
  readonly source: "sample" | "file"
  readonly file: File | undefined
  readonly format: FormatChoice
  readonly logFormat: string
}

export const FIRST_CHOICE: LogChoice = { source: "sample", file: undefined, format: "", logFormat: "" }

/** The format in the form that the service takes. Undefined: the service detects it. */
export function formatOf({ source, format, logFormat }: LogChoice): Plan["format"] {
  if (source === "sample" || format === "") return undefined
  return format === "nginx" ? { nginx: logFormat } : format
}

export interface LogChooserProps {
  readonly choice: LogChoice
  readonly onChange: (choice: LogChoice) => void
  /** What is wrong with the file. */
  readonly error: string | undefined
  readonly text: ReplayText
}

export function LogChooser({ choice, onChange, error, text }: LogChooserProps) {
  const { source } = choice
  return (
    <div class="replay-log">
      <Segmented
        label={text.source}
        value={source}
        options={[
          { value: "sample", text: text.sample },
          { value: "file", text: text.file },
        ]}
        onChange={(value) => onChange({ ...choice, source: value })}
      />
      {source === "sample" ? (
        <p class="soft">{text.sampleHint}</p>
      ) : (
        <div class="replay-file">
          <FileField choice={choice} onChange={onChange} error={error} text={text} />
          <FormatField choice={choice} onChange={onChange} text={text} />
        </div>
      )}
    </div>
  )
}

/** A file input. Browsers also accept a file that is dropped on it. */
function FileField({ choice, onChange, error, text }: LogChooserProps) {
  return (
    <Field label={text.choose} hint={text.chooseHint} error={error}>
      {(attributes) => (
        <div class="replay-drop">
          <input
            {...attributes}
            type="file"
            onChange={({ currentTarget: { files } }) => onChange({ ...choice, file: files?.[0] })}
          />
          {choice.file && <output>{text.chosen(choice.file.name, bytes(choice.file.size))}</output>}
        </div>
      )}
    </Field>
  )
}

function FormatField({ choice, onChange, text }: Omit<LogChooserProps, "error">) {
  const { format, logFormat } = choice
  return (
    <>
      <Field label={text.format}>
        {(attributes) => (
          <select
            {...attributes}
            value={format}
            onChange={({ currentTarget: { value } }) =>
              onChange({ ...choice, format: value as FormatChoice })
            }
          >
            <option value="">{text.detect}</option>
            {Object.entries(text.formats).map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        )}
      </Field>
      {format === "nginx" && (
        <Field label={text.logFormat}>
          {(attributes) => (
            <input
              {...attributes}
              class="mono"
              value={logFormat}
              placeholder={'$remote_addr - $remote_user [$time_local] "$request" $status'}
              onInput={({ currentTarget: { value } }) => onChange({ ...choice, logFormat: value })}
            />
          )}
        </Field>
      )}
    </>
  )
}
