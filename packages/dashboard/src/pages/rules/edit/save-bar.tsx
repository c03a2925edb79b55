import { t } from "../../../browser/i18n.js"
import { Button } from "../../../parts/button.js"
import { Icon } from "../../../parts/icon.js"
import { texts } from "../../../rules/texts.js"
import type { RuleProblem } from "../../../service/problem.js"

export interface SaveBarProps {
  readonly isChanged: boolean
  readonly isChecking: boolean
  readonly problems: readonly RuleProblem[]
  readonly canSave: boolean
  readonly onReview: () => void
  readonly onDiscard: () => void
}

/** Moves the focus to the first invalid field of the form, or to the line of the first mistake in the YAML. */
function showMistake(): void {
  document.querySelector<HTMLElement>('.rules-editor [aria-invalid="true"]')?.focus()
  document.querySelector<HTMLElement>(".rules-editor .yaml-state li button")?.click()
}

/** Tells whether the changes can be saved, with the buttons for that. */
export function SaveBar({ isChanged, isChecking, problems, canSave, onReview, onDiscard }: SaveBarProps) {
  const text = t(texts)
  const isWrong = isChanged && problems.length > 0
  const state = !isChanged
    ? text.unchanged
    : isChecking
      ? text.checking
      : isWrong
        ? text.mistakes(problems.length)
        : text.valid
  return (
    <div class="rules-save">
      <p role="status" class={isWrong ? "wrong" : "soft"}>
        {isWrong && <Icon name="warning" />}
        {isWrong && !isChecking ? (
          <button type="button" onClick={showMistake}>
            {state}
          </button>
        ) : (
          state
        )}
      </p>
      <div class="actions">
        {isChanged && (
          <Button kind="quiet" onClick={onDiscard}>
            {text.discard}
          </Button>
        )}
        <Button kind="primary" disabled={!canSave} onClick={onReview}>
          {text.review}
        </Button>
      </div>
    </div>
  )
}
