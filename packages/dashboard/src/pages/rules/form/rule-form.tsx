import { useEffect, useMemo } from "preact/hooks"
import type { RuleSetDocument } from "sluice/rules"
import { t } from "../../../browser/i18n.js"
import { Segmented } from "../../../parts/segmented.js"
import { problemsOutside, sentenceOf } from "../../../rules/problems.js"
import type { Mode } from "../../../rules/rule.js"
import { texts } from "../../../rules/texts.js"
import type { RuleProblem } from "../../../service/problem.js"
import type { Path } from "../../../yaml-editor/place.js"
import {
  Checkbox,
  Choice,
  type Form,
  FormContext,
  ListInput,
  NumberInput,
  Section,
  TextInput,
} from "./form-fields.js"
import { type FormValue, othersThan, valueAt, withValue } from "./form-value.js"
import { LimitsForm } from "./limits-form.js"

export interface RuleFormProps {
  readonly value: FormValue
  readonly problems: readonly RuleProblem[]
  readonly onChange: (value: FormValue) => void
  /** The id of an existing rule cannot change. */
  readonly isNew: boolean
  readonly isDisabled: boolean
  /** The defaults of the rule set, for limits that do not say it themselves. */
  readonly defaults: RuleSetDocument["defaults"]
}

/** The paths that the form has fields for. It names the other fields of a rule and keeps them unchanged. */
const SHOWN: readonly Path[] = [
  ["id"],
  ["description"],
  ["mode"],
  ["match", "method"],
  ["match", "host"],
  ["match", "path"],
  ["match", "tier"],
  ["keyBy"],
  ["onMissingKey"],
  ["limits"],
  ["onStoreFailure"],
  ["headers"],
  ["replaces"],
  ["holdUpgrades"],
  ["response", "status"],
]

export function RuleForm(props: RuleFormProps) {
  const { value, problems, onChange, isNew, isDisabled, defaults } = props
  const text = t(texts)
  const { fields } = text
  const form: Form = useMemo(
    () => ({ value, problems, set: (path, next) => onChange(withValue(value, path, next)) }),
    [value, problems, onChange],
  )
  // Scrolls the error of the current field out from behind the save bar.
  useEffect(() => {
    const field = document.activeElement
    if (problems.length === 0 || field?.getAttribute("aria-invalid") !== "true") return
    const said = field.getAttribute("aria-describedby")?.split(" ").at(-1)
    if (said !== undefined) document.getElementById(said)?.scrollIntoView({ block: "nearest" })
  }, [problems])
  const hasPlainCost = typeof value.cost !== "object"
  // A cost from the response is edited here if it is one field and one number; weights and estimates from bodies in YAML.
  const costPaths = (["estimate", "responseHeader", "responseJson", "overdraft"] as const)
    .map((name) => ["cost", name])
    .filter((path) => !hasPlainCost && typeof valueAt(value, path) !== "object")
  const showsCost = (name: string): boolean => costPaths.some((path) => path[1] === name)
  const hasPlainLeases = typeof value.leases !== "object"
  const hasTextBody = typeof valueAt(value, ["response", "body"]) !== "object"
  const shown: readonly Path[] = [
    ...SHOWN,
    ...(hasPlainCost ? [["cost"]] : costPaths),
    ...(hasPlainLeases ? [["leases"]] : []),
    ...(hasTextBody ? [["response", "body"]] : []),
  ]
  const others = othersThan(
    value,
    shown.map((path) => path.join(".")),
  )
  const outside = problemsOutside(problems, shown)
  const mode = (valueAt(value, ["mode"]) ?? "enforce") as Mode
  return (
    <FormContext.Provider value={form}>
      <fieldset class="rules-form" disabled={isDisabled}>
        {outside.length > 0 && (
          <div class="rules-error" role="status">
            <p>{fields.other}</p>
            <ul>
              {outside.map((problem) => (
                <li key={`${problem.path} ${problem.message}`}>{sentenceOf(problem)}</li>
              ))}
            </ul>
          </div>
        )}
        <Section title={fields.about}>
          {isNew && <TextInput label={fields.id} path={["id"]} hint={fields.idHint} placeholder="login" />}
          <TextInput label={fields.description} path={["description"]} />
          <div class="field">
            <span class="rules-label">{fields.mode}</span>
            <div class="rules-mode">
              <Segmented<Mode>
                label={fields.mode}
                value={mode}
                options={(["enforce", "shadow", "off"] as const).map((option) => ({
                  value: option,
                  text: text.modes[option],
                }))}
                onChange={(next) => form.set(["mode"], next === "enforce" ? undefined : next)}
              />
              <span class="soft">{text.modesMean[mode]}</span>
            </div>
          </div>
        </Section>
        <Section title={fields.what} columns={2}>
          <ListInput label={fields.method} path={["match", "method"]} hint={fields.methodHint} />
          <ListInput label={fields.path} path={["match", "path"]} hint={fields.pathHint} />
          <ListInput label={fields.host} path={["match", "host"]} hint={fields.hostHint} />
          <ListInput label={fields.tier} path={["match", "tier"]} />
        </Section>
        <Section title={fields.who} columns={2}>
          <ListInput label={fields.keyBy} path={["keyBy"]} hint={fields.keyByHint} placeholder="ip" />
          <Choice
            label={fields.onMissingKey}
            path={["onMissingKey"]}
            options={["ip", "skip", "deny"]}
            standard="ip"
          />
        </Section>
        <LimitsForm defaults={defaults} />
        <Section title={fields.more} columns={3}>
          <Choice
            label={fields.onStoreFailure}
            path={["onStoreFailure"]}
            options={["local", "allow", "deny"]}
            standard="local"
          />
          <Choice
            label={fields.headers}
            path={["headers"]}
            options={["legacy", "draft-6", "draft-7", "draft-8", "both", "none"]}
            standard="both"
          />
          {hasPlainCost && (
            <NumberInput label={fields.cost} path={["cost"]} hint={fields.costHint} placeholder="1" />
          )}
          {showsCost("estimate") && (
            <NumberInput
              label={fields.estimate}
              path={["cost", "estimate"]}
              hint={fields.estimateHint}
              placeholder="1"
            />
          )}
          {showsCost("responseHeader") && (
            <TextInput
              label={fields.costHeader}
              path={["cost", "responseHeader"]}
              hint={fields.costHeaderHint}
            />
          )}
          {showsCost("responseJson") && (
            <TextInput
              label={fields.costField}
              path={["cost", "responseJson"]}
              hint={fields.costFieldHint}
              placeholder="usage.total_tokens"
            />
          )}
          {showsCost("overdraft") && (
            <Choice
              label={fields.overdraft}
              path={["cost", "overdraft"]}
              options={["forgive", "charge"]}
              standard="forgive"
            />
          )}
          <NumberInput label={fields.status} path={["response", "status"]} placeholder="429" />
          {hasTextBody && (
            <TextInput label={fields.body} path={["response", "body"]} hint={fields.bodyHint} />
          )}
          <ListInput label={fields.replaces} path={["replaces"]} hint={fields.replacesHint} asList />
          {hasPlainLeases && <Checkbox label={fields.leases} path={["leases"]} />}
          {holdsPlaces(value, defaults) && <Checkbox label={fields.holdUpgrades} path={["holdUpgrades"]} />}
        </Section>
        {others.length > 0 && <p class="soft">{fields.inYaml(others.join(", "))}</p>}
      </fieldset>
    </FormContext.Provider>
  )
}

/** Whether a limit is of concurrency, so that its requests hold places. */
function holdsPlaces(value: FormValue, defaults: RuleSetDocument["defaults"]): boolean {
  const limits = valueAt(value, ["limits"])
  const algorithms = Array.isArray(limits)
    ? limits.map((limit) => (limit as { algorithm?: unknown } | null)?.algorithm ?? defaults?.algorithm)
    : []
  return algorithms.includes("concurrency") || valueAt(value, ["holdUpgrades"]) !== undefined
}
