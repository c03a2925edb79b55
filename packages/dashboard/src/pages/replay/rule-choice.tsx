// The choice of rules: those in force, and drafts that start as a copy of them.

import { Button } from "../../parts/button.js"
import { Field } from "../../parts/field.js"
import { Icon } from "../../parts/icon.js"
import { marksOf } from "../../rules/problems.js"
import { useVerdict } from "../../rules/use-verdict.js"
import { YamlEditor } from "../../yaml-editor/yaml-editor.js"
import { type Draft, MAX_CANDIDATES, type Start } from "./candidates.js"
import type { ReplayText } from "./texts.js"

export interface RuleChooserProps {
  readonly withInForce: boolean
  readonly drafts: readonly Draft[]
  readonly onInForce: (chosen: boolean) => void
  readonly onAdd: (start: Start) => void
  readonly onChange: (draft: Draft) => void
  readonly onRemove: (draft: Draft) => void
  readonly text: ReplayText
}

const STARTS: readonly Start[] = ["copy", "half", "twice"]

export function RuleChooser({ withInForce, drafts, text, ...on }: RuleChooserProps) {
  const isFull = drafts.length + 1 >= MAX_CANDIDATES
  const taken = [text.inForce, ...drafts.map(({ name }) => name)]
  return (
    <div class="replay-rules">
      <label class="replay-check">
        <input
          type="checkbox"
          checked={withInForce}
          onChange={({ currentTarget: { checked } }) => on.onInForce(checked)}
        />
        {text.withInForce}
      </label>
      <div class="replay-drafts">
        {drafts.map((draft) => (
          <DraftEditor
            key={draft.id}
            draft={draft}
            isTaken={taken.filter((name) => name === draft.name).length > 1}
            onChange={on.onChange}
            onRemove={on.onRemove}
            text={text}
          />
        ))}
      </div>
      <fieldset class="replay-add">
        <legend class="hidden">{text.add}</legend>
        {STARTS.map((start) => (
          <Button key={start} size="small" disabled={isFull} onClick={() => on.onAdd(start)}>
            <Icon name="plus" />
            {text[start]}
          </Button>
        ))}
      </fieldset>
    </div>
  )
}

interface DraftEditorProps extends Pick<RuleChooserProps, "onChange" | "onRemove" | "text"> {
  readonly draft: Draft
  readonly isTaken: boolean
}

function DraftEditor({ draft, isTaken, onChange, onRemove, text }: DraftEditorProps) {
  const { verdict } = useVerdict(draft.yaml, undefined)
  const { marks, notes } = marksOf(verdict?.problems ?? [], true)
  return (
    <section class="replay-draft" aria-label={text.rulesOf(draft.name)}>
      <div class="replay-draft-head">
        <Field label={text.name} error={isTaken ? text.nameTaken : undefined}>
          {(attributes) => (
            <input
              {...attributes}
              value={draft.name}
              maxLength={64}
              onInput={({ currentTarget: { value } }) => onChange({ ...draft, name: value })}
            />
          )}
        </Field>
        <Button
          kind="quiet"
          class="icon-only"
          aria-label={text.remove(draft.name)}
          onClick={() => onRemove(draft)}
        >
          <Icon name="close" />
        </Button>
      </div>
      <YamlEditor
        label={text.rulesOf(draft.name)}
        value={draft.yaml}
        onInput={(yaml) => onChange({ ...draft, yaml })}
        edits="set"
        marks={marks}
        notes={notes}
      />
    </section>
  )
}
