// The controls of the playground: traffic, limit and algorithms.

import { useState } from "preact/hooks"
import { Button } from "../../parts/button.js"
import { sparklinePath } from "../../parts/chart/sparkline.js"
import { Field } from "../../parts/field.js"
import { CALENDAR_UNITS, TIME_ZONES, type TwoWindows } from "./calendar.js"
import { calendarTerms, isLimit, type Setting, withShape, withTerms } from "./setting.js"
import type { PlaygroundText } from "./texts.js"
import { MAX_LIMIT, SHAPES, shapeOf, WINDOWS } from "./traffic.js"
import { VARIANTS, type Variant } from "./variants.js"

export interface ChoiceProps {
  readonly setting: Setting
  readonly onChange: (setting: Setting) => void
  readonly text: PlaygroundText
}

export function ShapeChoice({ setting, onChange, text }: ChoiceProps) {
  const { terms, shape } = setting
  return (
    <fieldset class="playground-shapes">
      <legend class="hidden">{text.shape}</legend>
      {[...SHAPES, "drawn" as const].map((name) => (
        <label key={name} class="playground-shape">
          <input
            type="radio"
            name="shape"
            value={name}
            checked={name === shape}
            onChange={() =>
              onChange(name === "drawn" ? { ...setting, shape: name } : withShape(setting, name))
            }
          />
          <span>
            <Thumbnail counts={name === "drawn" ? setting.counts : shapeOf(name, terms)} />
            {text.shapes[name]}
          </span>
        </label>
      ))}
    </fieldset>
  )
}

/** The limit, its window, and the button that clears the traffic. */
export function TermsChoice({
  setting,
  onChange,
  onClear,
  text,
}: ChoiceProps & { readonly onClear: () => void }) {
  const { terms } = setting
  const { limit, calendar } = terms
  const choose = (window: string) => {
    const unit = CALENDAR_UNITS.find((known) => known === window)
    const chosen =
      unit === undefined
        ? { limit, windowSeconds: Number(window) }
        : calendarTerms(limit, unit, calendar?.timeZone ?? "UTC", Date.now())
    onChange(withTerms(setting, chosen))
  }
  return (
    <div class="playground-terms">
      <LimitField setting={setting} onChange={onChange} text={text} />
      <Field label={text.window}>
        {(attributes) => (
          <select
            {...attributes}
            value={calendar?.unit ?? terms.windowSeconds}
            onChange={(event) => choose(event.currentTarget.value)}
          >
            {WINDOWS.map((seconds) => (
              <option key={seconds} value={seconds}>
                {text.seconds(seconds)}
              </option>
            ))}
            <optgroup label={text.calendar}>
              {CALENDAR_UNITS.map((unit) => (
                <option key={unit} value={unit}>
                  {text.units[unit]}
                </option>
              ))}
            </optgroup>
          </select>
        )}
      </Field>
      {calendar !== undefined && (
        <CalendarChoice
          calendar={calendar}
          onChoose={(timeZone, time) =>
            onChange(withTerms(setting, calendarTerms(limit, calendar.unit, timeZone, time)))
          }
          text={text}
        />
      )}
      <Button kind="quiet" onClick={onClear}>
        {text.clear}
      </Button>
    </div>
  )
}

/** The time zone of windows of the calendar, and the buttons that move the time line by one window. */
function CalendarChoice({
  calendar: { timeZone, start, boundary },
  onChoose,
  text,
}: {
  readonly calendar: TwoWindows
  readonly onChoose: (timeZone: string, time: number) => void
  readonly text: PlaygroundText
}) {
  // An address can have another name of a time zone.
  const zones = TIME_ZONES.includes(timeZone) ? TIME_ZONES : [timeZone, ...TIME_ZONES]
  return (
    <>
      <Field label={text.timeZone}>
        {(attributes) => (
          <select
            {...attributes}
            value={timeZone}
            // The middle of a window is in the same one, or near it, in every time zone.
            onChange={(event) => onChoose(event.currentTarget.value, (start + boundary) / 2)}
          >
            {zones.map((zone) => (
              <option key={zone} value={zone}>
                {zone}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Button kind="quiet" onClick={() => onChoose(timeZone, start - 1)}>
        {text.earlier}
      </Button>
      <Button kind="quiet" onClick={() => onChoose(timeZone, boundary)}>
        {text.later}
      </Button>
    </>
  )
}

/** Keeps the typed text, and applies it only if it is a valid limit. */
function LimitField({ setting, onChange, text }: ChoiceProps) {
  const { terms } = setting
  const [typed, setTyped] = useState(String(terms.limit))
  const limit = Number(typed)
  const isRight = typed.trim() !== "" && isLimit(limit)
  return (
    <Field label={text.limit} error={isRight ? undefined : text.limitRange(MAX_LIMIT)}>
      {(attributes) => (
        <input
          {...attributes}
          type="number"
          inputMode="numeric"
          min={1}
          max={MAX_LIMIT}
          step={1}
          value={typed}
          onInput={({ currentTarget: { value } }) => {
            setTyped(value)
            if (value.trim() !== "" && isLimit(Number(value)))
              onChange(withTerms(setting, { ...terms, limit: Number(value) }))
          }}
        />
      )}
    </Field>
  )
}

function Thumbnail({ counts }: { readonly counts: readonly number[] }) {
  return (
    <svg class="playground-thumbnail" viewBox="0 0 100 24" preserveAspectRatio="none" aria-hidden="true">
      <path d={sparklinePath(binned(counts))} />
    </svg>
  )
}

/** Sums over five slots. Single slots of a slow, steady rate alternate between zero and one. */
function binned(counts: readonly number[]): number[] {
  const size = 5
  return Array.from({ length: counts.length / size }, (_, i) =>
    counts.slice(i * size, (i + 1) * size).reduce((sum, count) => sum + count, 0),
  )
}

export function VariantChoice({
  chosen,
  onChange,
  text,
}: {
  readonly chosen: readonly Variant[]
  readonly onChange: (chosen: Variant[]) => void
  readonly text: PlaygroundText
}) {
  return (
    <fieldset class="playground-variants">
      <legend class="hidden">{text.compare}</legend>
      {VARIANTS.map((variant) => (
        <label key={variant.id}>
          <input
            type="checkbox"
            checked={chosen.includes(variant)}
            onChange={({ currentTarget: { checked } }) =>
              onChange(VARIANTS.filter((one) => (one === variant ? checked : chosen.includes(one))))
            }
          />
          <span class="mono">{variant.name}</span>
        </label>
      ))}
      <p class="soft">{text.noConcurrency}</p>
    </fieldset>
  )
}
