import { useContext, useId } from "preact/hooks"
import type { RuleSetDocument } from "sluice/rules"
import { t } from "../../../browser/i18n.js"
import { Button } from "../../../parts/button.js"
import { Icon } from "../../../parts/icon.js"
import { messageAt, problemsAt } from "../../../rules/problems.js"
import { texts } from "../../../rules/texts.js"
import { Choice, FormContext, NumberInput, Section, TextInput } from "./form-fields.js"
import { valueAt } from "./form-value.js"

const STANDARD_ALGORITHM = "sliding-window-counter"
const ALGORITHMS = [
  "fixed-window",
  "sliding-window-log",
  "sliding-window-counter",
  "token-bucket",
  "leaky-bucket",
  "gcra",
  "concurrency",
]

/** The penalty of a limit that gets one in the form. */
const FIRST_PENALTY = { after: 5, within: "10m", block: "1h" }

interface Defaults {
  /** What a limit has if it sets none: shown as placeholders. */
  readonly defaults: RuleSetDocument["defaults"]
}

/** The limits of a rule, one row each. */
export function LimitsForm({ defaults }: Defaults) {
  const { value, problems, set } = useContext(FormContext)
  const text = t(texts).fields
  const limits = valueAt(value, ["limits"])
  const isUnlimited = limits === "unlimited"
  const list = Array.isArray(limits) ? limits : []
  const error = list.length === 0 ? messageAt(problems, ["limits"]) : undefined
  return (
    <Section title={text.limits} hint={text.limitsHint}>
      <div class="rules-limits-head">
        <label class="rules-check">
          <input
            type="checkbox"
            checked={isUnlimited}
            onChange={({ currentTarget }) => set(["limits"], currentTarget.checked ? "unlimited" : [{}])}
          />
          {text.isUnlimited}
        </label>
      </div>
      {list.map((_, i) => (
        <LimitRow key={i} index={i} defaults={defaults} isOnly={list.length === 1} />
      ))}
      {error !== undefined && <p class="rules-error">{error}</p>}
      {!isUnlimited && (
        <Button size="small" onClick={() => set(["limits", list.length], {})}>
          <Icon name="plus" /> {text.addLimit}
        </Button>
      )}
    </Section>
  )
}

interface RowProps extends Defaults {
  readonly index: number
  readonly isOnly: boolean
}

function LimitRow({ index, defaults = {}, isOnly }: RowProps) {
  const { algorithm: standard = STANDARD_ALGORITHM } = defaults
  const { value, problems, set } = useContext(FormContext)
  const text = t(texts).fields
  const errorIn = useId()
  const at = (name: string) => ["limits", index, name]
  const isCalendar = ["hour", "day", "week", "month"].includes(
    String(valueAt(value, at("window")) ?? defaults.window),
  )
  const algorithm = String(valueAt(value, at("algorithm")) ?? (isCalendar ? "fixed-window" : standard))
  const isSet = (name: string) => valueAt(value, at(name)) !== undefined
  return (
    <fieldset class="rules-limit">
      <legend class="hidden">{text.nth(index + 1)}</legend>
      <NumberInput
        label={text.limit}
        path={at("limit")}
        errorIn={errorIn}
        placeholder={String(defaults.limit ?? 100)}
      />
      {(algorithm !== "concurrency" || isSet("window")) && (
        <TextInput
          label={text.window}
          path={at("window")}
          errorIn={errorIn}
          placeholder={String(defaults.window ?? "1m")}
        />
      )}
      {(algorithm === "concurrency" || isSet("hold")) && (
        <TextInput label={text.hold} path={at("hold")} errorIn={errorIn} placeholder="1m" />
      )}
      <Choice
        label={text.algorithm}
        path={at("algorithm")}
        errorIn={errorIn}
        options={ALGORITHMS}
        standard={isCalendar ? "fixed-window" : standard}
      />
      {(isCalendar || isSet("timeZone")) && (
        <TextInput label={text.timeZone} path={at("timeZone")} errorIn={errorIn} placeholder="UTC" />
      )}
      {(["token-bucket", "leaky-bucket"].includes(algorithm) || isSet("burst")) && (
        <NumberInput label={text.burst} path={at("burst")} errorIn={errorIn} />
      )}
      {(algorithm === "gcra" || isSet("maxBurst")) && (
        <NumberInput label={text.maxBurst} path={at("maxBurst")} errorIn={errorIn} />
      )}
      {(algorithm === "sliding-window-counter" || isSet("buckets")) && (
        <NumberInput label={text.buckets} path={at("buckets")} errorIn={errorIn} placeholder="1" />
      )}
      {((algorithm === "fixed-window" && !isCalendar) || isSet("anchor")) && (
        <Choice
          label={text.anchor}
          path={at("anchor")}
          errorIn={errorIn}
          options={["aligned", "first-request"]}
          standard="aligned"
        />
      )}
      {(algorithm === "leaky-bucket" || isSet("overflow")) && (
        <Choice
          label={text.overflow}
          path={at("overflow")}
          errorIn={errorIn}
          options={["reject", "queue"]}
          standard="reject"
        />
      )}
      <TextInput label={text.name} path={at("name")} errorIn={errorIn} />
      <label class="rules-check rules-wide">
        <input
          type="checkbox"
          checked={isSet("penalty")}
          onChange={({ currentTarget }) =>
            set(at("penalty"), currentTarget.checked ? FIRST_PENALTY : undefined)
          }
        />
        {text.penalty}
      </label>
      {isSet("penalty") && (
        <div class="rules-penalty rules-wide">
          <NumberInput label={text.after} path={[...at("penalty"), "after"]} errorIn={errorIn} />
          <TextInput label={text.within} path={[...at("penalty"), "within"]} errorIn={errorIn} />
          <TextInput label={text.block} path={[...at("penalty"), "block"]} errorIn={errorIn} />
          <NumberInput
            label={text.factor}
            path={[...at("penalty"), "factor"]}
            errorIn={errorIn}
            placeholder="1"
          />
          <TextInput label={text.max} path={[...at("penalty"), "max"]} errorIn={errorIn} placeholder="1d" />
          <TextInput
            label={text.forget}
            path={[...at("penalty"), "forget"]}
            errorIn={errorIn}
            placeholder="1d"
          />
        </div>
      )}
      <Button
        kind="quiet"
        size="small"
        class="icon-only"
        aria-label={text.removeLimit(index + 1)}
        title={text.removeLimit(index + 1)}
        disabled={isOnly}
        onClick={() => set(["limits", index], undefined)}
      >
        <Icon name="close" />
      </Button>
      <ul id={errorIn} class="rules-error rules-limit-errors">
        {problemsAt(problems, ["limits", index]).map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </fieldset>
  )
}
