// The editor for the whole rule set as YAML.

import { useEffect, useState } from "preact/hooks"
import type { RuleSetDocument } from "sluice/rules"
import { t } from "../../../browser/i18n.js"
import { href } from "../../../browser/router.js"
import { PageHead } from "../../../parts/panel.js"
import { toast } from "../../../parts/toast.js"
import { marksOf } from "../../../rules/problems.js"
import { revisionOf } from "../../../rules/revision.js"
import { texts } from "../../../rules/texts.js"
import { useVerdict } from "../../../rules/use-verdict.js"
import { writeYaml } from "../../../rules/write-yaml.js"
import { ask } from "../../../service/api.js"
import { Problem } from "../../../service/problem.js"
import { mayEdit } from "../../../service/session.js"
import { YamlEditor } from "../../../yaml-editor/yaml-editor.js"
import { type Conflict, loadConflict } from "./conflict.js"
import { keptDraft, useKeptDraft } from "./drafts.js"
import { hintsFor } from "./hints.js"
import { commentQuery, Review } from "./review.js"
import { SaveBar } from "./save-bar.js"

export interface SetEditorProps {
  readonly set: RuleSetDocument
  readonly etag: string
}

/** The content and etag that the changes are based on. */
interface Base {
  readonly text: string
  readonly etag: string
}

/** Changes that are not saved yet. */
interface Draft {
  readonly base: Base
  readonly draft: string
}

const DRAFT = "set"

export function SetEditor({ set, etag }: SetEditorProps) {
  const text = t(texts)
  const [kept] = useState(() => keptDraft<Draft>(DRAFT))
  const [base, setBase] = useState<Base>(() => kept?.base ?? { text: writeYaml(set), etag })
  const [draft, setDraft] = useState(kept?.draft ?? base.text)
  const [isReviewing, setReviewing] = useState(false)
  const [conflict, setConflict] = useState<Conflict | undefined>()
  const { verdict, isChecking } = useVerdict(draft, undefined)
  const problems = verdict?.problems ?? []
  const isChanged = draft !== base.text
  useKeptDraft(DRAFT, isChanged ? ({ base, draft } satisfies Draft) : undefined)

  const start = (given: string, onEtag: string) => {
    setBase({ text: given, etag: onEtag })
    setDraft(given)
    setConflict(undefined)
  }

  useEffect(() => {
    if (!isChanged && etag !== base.etag) start(writeYaml(set), etag)
  }, [etag])

  const save = async (comment: string) => {
    try {
      const sending = { body: draft, type: "application/yaml", ifMatch: base.etag }
      const { etag: saved = "*" } = await ask("PUT", `rules${commentQuery(comment)}`, sending)
      setReviewing(false)
      toast(text.savedSet)
      start(draft, saved)
    } catch (problem) {
      if (!(problem instanceof Problem && problem.isConflict)) throw problem
      const found = await loadConflict(Number(revisionOf(base.etag)))
      setConflict(found)
      setBase({ text: writeYaml(found.document), etag: found.etag })
    }
  }

  return (
    <>
      <p class="rules-back">
        <a href={href("rules")}>← {text.back}</a>
      </p>
      <PageHead title={text.setTitle} lead={text.setLead} />
      <section class="panel rules-editor" aria-label={text.setTitle}>
        {!mayEdit.value && <p class="soft">{text.readOnly}</p>}
        {isChanged && etag !== base.etag && (
          <p class="rules-notice" role="status">
            {text.changedMeanwhile(Number(revisionOf(etag)))}
          </p>
        )}
        <YamlEditor
          label={text.setTitle}
          value={draft}
          edits="set"
          hints={hintsFor(set)}
          readOnly={!mayEdit.value}
          onInput={setDraft}
          {...marksOf(problems, true)}
        />
        {mayEdit.value && (
          <SaveBar
            isChanged={isChanged}
            isChecking={isChecking}
            problems={problems}
            canSave={isChanged && !isChecking && verdict?.valid === true}
            onReview={() => setReviewing(true)}
            onDiscard={() => start(base.text, base.etag)}
          />
        )}
      </section>
      {isReviewing && (
        <Review
          before={base.text}
          after={draft}
          conflict={conflict && { with: conflict, means: text.conflictHere, isSame: true }}
          onSave={save}
          onClose={() => setReviewing(false)}
          onTakeTheirs={() => {
            setReviewing(false)
            start(base.text, base.etag)
          }}
        />
      )}
    </>
  )
}
