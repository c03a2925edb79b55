import { useState } from "preact/hooks"
import { t } from "../../../browser/i18n.js"
import { go } from "../../../browser/router.js"
import { Button } from "../../../parts/button.js"
import { Dialog } from "../../../parts/dialog.js"
import { problemText, toast } from "../../../parts/toast.js"
import { texts } from "../../../rules/texts.js"
import { ask, path } from "../../../service/api.js"
import { Problem } from "../../../service/problem.js"

export interface DeleteRuleProps {
  readonly id: string
  readonly etag: string
  readonly onClose: () => void
  /** Called after the rule was deleted, to drop unsaved changes. */
  readonly onDeleted: () => void
}

/** Asks for confirmation, then deletes. The service refuses if an override or another rule refers to the rule. */
export function DeleteRule({ id, etag, onClose, onDeleted }: DeleteRuleProps) {
  const text = t(texts)
  const [isBusy, setBusy] = useState(false)
  const [refused, setRefused] = useState<string | undefined>()
  const remove = async () => {
    setBusy(true)
    try {
      await ask("DELETE", path("rules", id), { ifMatch: etag })
      onDeleted()
      toast(text.deleted(id))
      go("rules")
    } catch (problem) {
      const isConflict = problem instanceof Problem && problem.isConflict
      setRefused(isConflict ? text.conflictAgain : problemText(problem))
      setBusy(false)
    }
  }
  return (
    <Dialog
      title={text.deleteTitle(id)}
      onClose={onClose}
      actions={
        <>
          <Button kind="quiet" onClick={onClose}>
            {text.cancel}
          </Button>
          <Button kind="danger" busy={isBusy} onClick={() => void remove()}>
            {text.delete}
          </Button>
        </>
      }
    >
      <p>{text.deleteMeans}</p>
      {refused !== undefined && (
        <p class="rules-error" role="alert">
          {refused}
        </p>
      )}
    </Dialog>
  )
}
