import { useState } from "preact/hooks"
import type { RuleSetDocument } from "sluice/rules"
import { t } from "../../browser/i18n.js"
import { Button } from "../../parts/button.js"
import { Dialog } from "../../parts/dialog.js"
import { Diff } from "../../parts/diff.js"
import { problemText, toast } from "../../parts/toast.js"
import { revisionOf } from "../../rules/revision.js"
import { texts } from "../../rules/texts.js"
import { writeYaml } from "../../rules/write-yaml.js"
import { ask } from "../../service/api.js"
import { Problem } from "../../service/problem.js"
import { mayEdit } from "../../service/session.js"
import { CommentField } from "./edit/review.js"

export interface CompareRevisionProps {
  readonly revision: number
  readonly document: RuleSetDocument
  readonly current: RuleSetDocument
  readonly etag: string
  readonly onClose: () => void
}

/** Shows what a rollback to a revision would change, with the button that does it. */
export function CompareRevision({ revision, document, current, etag, onClose }: CompareRevisionProps) {
  const text = t(texts)
  const [comment, setComment] = useState("")
  const [isBusy, setBusy] = useState(false)
  const [refused, setRefused] = useState<string | undefined>()
  const [before, after] = [writeYaml(current), writeYaml(document)]
  const isSame = before === after
  const rollback = async () => {
    if (isBusy) return
    setBusy(true)
    try {
      const said = comment.trim() === "" ? {} : { comment: comment.trim() }
      const { etag: now } = await ask("POST", "rules/rollback", {
        body: { revision, ...said },
        ifMatch: etag,
      })
      toast(text.rolledBack(revision, revisionOf(now)))
      onClose()
    } catch (problem) {
      const isConflict = problem instanceof Problem && problem.isConflict
      setRefused(isConflict ? text.conflictAgain : problemText(problem))
      setBusy(false)
    }
  }
  return (
    <Dialog
      wide
      title={text.compareTitle(revision)}
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            {text.cancel}
          </Button>
          {mayEdit.value && !isSame && (
            <Button kind="primary" busy={isBusy} onClick={() => void rollback()}>
              {text.rollback(revision)}
            </Button>
          )}
        </>
      }
    >
      {isSame ? <p>{text.sameAsNow}</p> : <Diff label={text.diffLabel} before={before} after={after} />}
      {mayEdit.value && !isSame && (
        <CommentField value={comment} onChange={setComment} onEnter={() => void rollback()} />
      )}
      {refused !== undefined && (
        <p class="rules-error" role="alert">
          {refused}
        </p>
      )}
    </Dialog>
  )
}
