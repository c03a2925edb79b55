import type { ComponentChildren } from "preact"
import { useEffect, useId, useRef } from "preact/hooks"
import { t } from "../browser/i18n.js"
import { Icon } from "./icon.js"
import { texts } from "./texts.js"

export interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly wide?: boolean
  readonly children: ComponentChildren
  /** Buttons, the main one last. */
  readonly actions?: ComponentChildren
}

/** A modal dialog, open while it is rendered. It keeps the focus inside, closes on Escape, and returns the focus. */
export function Dialog({ title, onClose, wide, children, actions }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    const opener = document.activeElement
    dialog.current?.showModal()
    return () => {
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog ref={dialog} class={wide ? "dialog wide" : "dialog"} aria-labelledby={heading} onClose={onClose}>
      <header>
        <h2 id={heading}>{title}</h2>
        <button type="button" class="button quiet icon-only" aria-label={t(texts).close} onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <div class="dialog-body">{children}</div>
      {actions && <footer>{actions}</footer>}
    </dialog>
  )
}
