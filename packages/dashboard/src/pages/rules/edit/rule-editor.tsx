// The editor for one rule, as a form or as YAML. The service checks the rule while the user types. The user reviews
// the changes before they are saved, based on the revision that they were made on.

import { useEffect, useState } from "preact/hooks"
import type { RuleSetDocument, RuleSpec } from "sluice/rules"
import { t } from "../../../browser/i18n.js"
import { go, href } from "../../../browser/router.js"
import { Button } from "../../../parts/button.js"
import { PageHead } from "../../../parts/panel.js"
import { Segmented } from "../../../parts/segmented.js"
import { toast } from "../../../parts/toast.js"
import { marksOf } from "../../../rules/problems.js"
import { changeWords, revisionOf } from "../../../rules/revision.js"
import { examplePath } from "../../../rules/rule.js"
import { texts } from "../../../rules/texts.js"
import { useVerdict } from "../../../rules/use-verdict.js"
import { writeYaml } from "../../../rules/write-yaml.js"
import { ask, path } from "../../../service/api.js"
import { Problem } from "../../../service/problem.js"
import { mayEdit } from "../../../service/session.js"
import { YamlEditor } from "../../../yaml-editor/yaml-editor.js"
import type { FormValue } from "../form/form-value.js"
import { RuleForm } from "../form/rule-form.js"
import { type Conflict, loadConflict } from "./conflict.js"
import { DeleteRule } from "./delete-rule.js"
import { keptDraft, useKeptDraft } from "./drafts.js"
import { hintsFor } from "./hints.js"
import { commentQuery, type MetConflict, Review } from "./review.js"
import { SaveBar } from "./save-bar.js"

export interface RuleEditorProps {
  /** Undefined for a new rule. */
  readonly id: string | undefined
  readonly set: RuleSetDocument
  readonly etag: string
}

/** The content and etag that the changes are based on. */
interface Base {
  readonly rule: RuleSpec | undefined
  readonly etag: string
}

type View = "form" | "yaml"

/** Changes that are not saved yet. */
interface Draft {
  readonly base: Base
  readonly view: View
  readonly value: FormValue
  readonly draft: string
}

const NEW_RULE: FormValue = { id: "", mode: "shadow", limits: [{ limit: 100, window: "1m" }] }

export function RuleEditor({ id, set, etag }: RuleEditorProps) {
  const text = t(texts)
  const current = set.rules.find((rule) => rule.id === id)
  const name = `rule ${id ?? ""}`
  const [kept] = useState(() => keptDraft<Draft>(name))
  const [base, setBase] = useState<Base>(kept?.base ?? { rule: current, etag })
  const [view, setView] = useState<View>(kept?.view ?? "form")
  const [value, setValue] = useState<FormValue>(kept?.value ?? current ?? NEW_RULE)
  const [draft, setDraft] = useState(() => kept?.draft ?? writeYaml(value))
  const [isReviewing, setReviewing] = useState(false)
  const [isDeleting, setDeleting] = useState(false)
  const [conflict, setConflict] = useState<MetConflict | undefined>()
  const checked = useVerdict(draft, id ?? "")
  const verdict = renamed(checked.verdict, id, text.idStays)
  const before = base.rule === undefined ? "" : writeYaml(base.rule)
  const isChanged = draft !== (base.rule === undefined ? writeYaml(NEW_RULE) : before)
  // An untouched new rule has no id, which is not reported as a mistake.
  const problems = isChanged ? (verdict?.problems ?? []) : []
  useKeptDraft(name, isChanged ? ({ base, view, value, draft } satisfies Draft) : undefined)

  const start = (rule: RuleSpec | undefined, onEtag: string) => {
    setBase({ rule, etag: onEtag })
    setValue(rule ?? NEW_RULE)
    setDraft(writeYaml(rule ?? NEW_RULE))
    setConflict(undefined)
  }

  // Without changes, the editor follows the rules in force.
  useEffect(() => {
    if (!isChanged && etag !== base.etag && current !== undefined) start(current, etag)
  }, [etag])

  const show = (next: View) => {
    if (next === "yaml" || draft === writeYaml(value)) setView(next)
    else if (!checked.isChecking && verdict?.rule !== undefined) {
      setValue(verdict.rule)
      setView(next)
    } else toast(text.fixFirst, "failed")
  }

  const save = async (comment: string) => {
    const rule = verdict?.rule
    if (rule === undefined) return
    try {
      const query = commentQuery(comment)
      // The PUT also creates the rule again if somebody else deleted it.
      const { data, etag: saved = "*" } = await (id === undefined
        ? ask<RuleSpec>("POST", `rules${query}`, { body: rule, ifMatch: base.etag })
        : ask<RuleSpec>("PUT", path("rules", id) + query, { body: rule, ifMatch: base.etag }))
      setReviewing(false)
      toast(text.saved(rule.id))
      start(data, saved)
      if (id === undefined) go("rules", ["rule", rule.id])
    } catch (problem) {
      if (!(problem instanceof Problem && problem.isConflict)) throw problem
      const found = await loadConflict(Number(revisionOf(base.etag)))
      const theirs = found.document.rules.find((known) => known.id === rule.id)
      setConflict(met(found, base.rule, theirs))
      setBase({ rule: theirs, etag: found.etag })
    }
  }

  if (id !== undefined && base.rule === undefined && conflict === undefined) return <UnknownRule id={id} />
  const canSave = mayEdit.value && isChanged && !checked.isChecking && verdict?.valid === true
  return (
    <>
      <p class="rules-back">
        <a href={href("rules")}>← {text.back}</a>
      </p>
      <PageHead title={id ?? text.newTitle}>
        {id !== undefined && (
          <a class="button" href={href("try", [], exampleOf(base.rule))}>
            {text.tryIt}
          </a>
        )}
        {id !== undefined && mayEdit.value && (
          <Button kind="danger" onClick={() => setDeleting(true)}>
            {text.delete}
          </Button>
        )}
      </PageHead>
      <section class="panel rules-editor" aria-label={id ?? text.newTitle}>
        <div class="rules-editor-head">
          <Segmented<View>
            label={text.view}
            value={view}
            options={[
              { value: "form", text: text.form },
              { value: "yaml", text: text.yaml },
            ]}
            onChange={show}
          />
          {!mayEdit.value && <p class="soft">{text.readOnly}</p>}
          {isChanged && etag !== base.etag && (
            <p class="rules-notice" role="status">
              {text.changedMeanwhile(Number(revisionOf(etag)))}
            </p>
          )}
        </div>
        {view === "form" ? (
          <RuleForm
            value={value}
            problems={problems}
            isNew={id === undefined}
            isDisabled={!mayEdit.value}
            defaults={set.defaults}
            onChange={(next) => {
              setValue(next)
              setDraft(writeYaml(next))
            }}
          />
        ) : (
          <YamlEditor
            label={text.yaml}
            value={draft}
            edits="rule"
            hints={hintsFor(set)}
            readOnly={!mayEdit.value}
            onInput={setDraft}
            {...marksOf(problems)}
          />
        )}
        {mayEdit.value && (
          <SaveBar
            isChanged={isChanged}
            isChecking={checked.isChecking}
            problems={problems}
            canSave={canSave}
            onReview={() => setReviewing(true)}
            onDiscard={() => start(base.rule, base.etag)}
          />
        )}
      </section>
      {isReviewing && verdict?.rule !== undefined && (
        <Review
          before={before}
          after={writeYaml(verdict.rule)}
          conflict={conflict}
          onSave={save}
          onClose={() => setReviewing(false)}
          onTakeTheirs={() => {
            setReviewing(false)
            start(base.rule, base.etag)
          }}
        />
      )}
      {isDeleting && id !== undefined && (
        <DeleteRule
          id={id}
          etag={base.etag}
          onClose={() => setDeleting(false)}
          onDeleted={() => start(base.rule, base.etag)}
        />
      )}
    </>
  )
}

function UnknownRule({ id }: { readonly id: string }) {
  const text = t(texts)
  return (
    <PageHead title={text.unknown(id)} lead={text.unknownMeans}>
      <a class="button" href={href("rules")}>
        {text.back}
      </a>
    </PageHead>
  )
}

/** Reports a changed id as a mistake: the service would take the rule for a new one. */
function renamed(verdict: ReturnType<typeof useVerdict>["verdict"], id: string | undefined, message: string) {
  if (id === undefined || verdict?.rule === undefined || verdict.rule.id === id) return verdict
  return { valid: false, problems: [{ code: "RULE_FIELD_INVALID", path: "id", message, line: 1, column: 1 }] }
}

/** What a conflict means for the edited rule. `known` is the rule before their changes, `theirs` the rule after them. */
function met(conflict: Conflict, known: RuleSpec | undefined, theirs: RuleSpec | undefined): MetConflict {
  const text = t(texts)
  const isSame = writeYaml(known ?? {}) !== writeYaml(theirs ?? {})
  const elsewhere = text.conflictElsewhere(changeWords(conflict.changes) || text.otherThings)
  const here = theirs === undefined ? text.conflictGone : text.conflictHere
  return { with: conflict, isSame, means: isSame ? here : elsewhere }
}

function exampleOf(rule: RuleSpec | undefined): Record<string, string> {
  const first = (value: string | readonly string[] | undefined) => [value].flat()[0]
  const { method, path: pattern, host } = rule?.match ?? {}
  const given = { method: first(method), host: first(host)?.replace("*.", ""), path: first(pattern) }
  return {
    ...(given.method === undefined ? {} : { method: given.method }),
    ...(given.host === undefined ? {} : { host: given.host }),
    ...(given.path === undefined ? {} : { path: examplePath(given.path) }),
  }
}
