// A small editor for YAML over a real <textarea>: what is typed, selected, undone and read out is the browser's. Behind it
// lies the same text in colours; beside it stand the numbers of the lines and the mistakes.

import "./yaml-editor.css"
import { useId, useLayoutEffect, useRef, useState } from "preact/hooks"
import { t } from "../../i18n.js"
import type { Hints, Suggestion } from "../../yaml/completion.js"
import type { SchemaReader } from "../../yaml/schema.js"
import { type Edit, indent, newLine, outdent } from "../../yaml/typing.js"
import { Highlight } from "./highlight.js"
import { type Mark, messagesByLine, offsetOf } from "./marks.js"
import { Suggestions } from "./suggestions.js"
import { texts } from "./texts.js"
import { useCompletion } from "./use-completion.js"

export interface YamlEditorProps {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  /** What completion is made from. */
  readonly schema?: SchemaReader | undefined
  readonly hints?: Hints | undefined
  readonly marks?: readonly Mark[]
  /** Mistakes that have no line. */
  readonly notes?: readonly string[]
  readonly readOnly?: boolean
}

export function YamlEditor(props: YamlEditorProps) {
  const { label, value, onInput, schema, hints, marks = [], notes = [], readOnly = false } = props
  const text = t(texts)
  const id = useId()
  const area = useRef<HTMLTextAreaElement>(null)
  const layer = useRef<HTMLPreElement>(null)
  const frame = useRef<HTMLDivElement>(null)
  const isLeaving = useRef(false)
  const { open, offer, move, close } = useCompletion({ schema, hints })
  const [at, setAt] = useState({ left: 0, top: 0 })

  useLayoutEffect(() => {
    if (open !== undefined) setAt(placeOf(frame.current, layer.current, open.start))
  }, [open])

  /** Through the browser's own command where there is one, so that it can be undone. */
  const apply = ({ start, end, text: inserted, selection }: Edit) => {
    const element = area.current
    if (element === null) return
    element.setSelectionRange(start, end)
    const isDone =
      inserted === "" ? document.execCommand("delete") : document.execCommand("insertText", false, inserted)
    if (!isDone) {
      element.setRangeText(inserted, start, end)
      onInput(element.value)
    }
    element.setSelectionRange(...selection)
  }

  const accept = ({ insert, kind }: Suggestion) => {
    const element = area.current
    if (open === undefined || element === null) return
    const cursor = open.start + insert.length
    apply({ start: open.start, end: open.end, text: insert, selection: [cursor, cursor] })
    close()
    // After a name, the words that it takes.
    if (kind === "field") offer(element.value, cursor, insert.endsWith(": "))
  }

  const onKeyDown = (event: KeyboardEvent) => {
    const element = area.current
    if (element === null || event.isComposing) return
    const { selectionStart: start, selectionEnd: end } = element
    const wasLeaving = isLeaving.current
    isLeaving.current = false
    const act = (action: () => void) => {
      event.preventDefault()
      action()
    }
    if (event.key === " " && event.ctrlKey) act(() => offer(value, start, true))
    else if (open !== undefined && event.key === "ArrowDown") act(() => move(1))
    else if (open !== undefined && event.key === "ArrowUp") act(() => move(-1))
    else if (open !== undefined && event.key === "Escape") act(close)
    else if (open !== undefined && (event.key === "Enter" || event.key === "Tab") && !event.shiftKey)
      act(() => accept(open.suggestions[open.chosen] as Suggestion))
    else if (event.key === "Escape") isLeaving.current = true
    else if (readOnly || event.ctrlKey || event.altKey || event.metaKey) return
    else if (event.key === "Tab" && !wasLeaving)
      act(() => apply((event.shiftKey ? outdent : indent)(element.value, start, end)))
    else if (event.key === "Enter") act(() => apply(newLine(element.value, start, end)))
  }

  const show = (mark: Mark) => {
    const offset = offsetOf(value, mark)
    area.current?.focus()
    area.current?.setSelectionRange(offset, offset)
  }

  const byLine = messagesByLine(marks)
  const count = marks.length + notes.length
  const lines = value.split("\n").length
  return (
    <div class={count === 0 ? "yaml-editor" : "yaml-editor has-error"} ref={frame}>
      <div class="yaml-scroll">
        <div class="yaml-lines" aria-hidden="true">
          {Array.from({ length: lines }, (_, i) => (
            <div key={i} class={byLine.has(i + 1) ? "wrong" : undefined} title={byLine.get(i + 1)}>
              {i + 1}
            </div>
          ))}
        </div>
        <div class="yaml-text-frame">
          <pre ref={layer} aria-hidden="true">
            <Highlight text={value} />
          </pre>
          <textarea
            ref={area}
            aria-label={label}
            aria-describedby={`${id}-keys ${id}-state`}
            aria-invalid={count > 0 || undefined}
            aria-autocomplete="list"
            {...(open === undefined ? {} : comboboxOf(`${id}-list`, open.chosen))}
            autocomplete="off"
            autocapitalize="off"
            autocorrect="off"
            spellcheck={false}
            wrap="off"
            readOnly={readOnly}
            value={value}
            onInput={({ currentTarget }) => {
              onInput(currentTarget.value)
              offer(currentTarget.value, currentTarget.selectionStart, false)
            }}
            onKeyDown={onKeyDown}
            onClick={close}
            onBlur={close}
          />
        </div>
      </div>
      {open !== undefined && (
        <Suggestions
          id={`${id}-list`}
          suggestions={open.suggestions}
          chosen={open.chosen}
          at={at}
          onChoose={(index) => accept(open.suggestions[index] as Suggestion)}
        />
      )}
      <p class="hidden" id={`${id}-keys`}>
        {text.keys}
      </p>
      <p class="hidden" role="status">
        {open === undefined ? "" : text.found(open.suggestions.length)}
      </p>
      <div class="yaml-state">
        <p id={`${id}-state`} role="status">
          {count === 0 ? text.fine : text.mistakes(count)}
        </p>
        {count > 0 && (
          <ul>
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
            {marks.map((mark) => (
              <li key={`${mark.line}:${mark.column} ${mark.message}`}>
                <button type="button" onClick={() => show(mark)}>
                  {text.line(mark.line)}
                </button>{" "}
                {mark.message}
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  )
}

/** A text of several lines is a combobox only while it has a list: screen readers take it for a text otherwise. */
function comboboxOf(list: string, chosen: number): object {
  return {
    role: "combobox",
    "aria-expanded": true,
    "aria-haspopup": "listbox",
    "aria-controls": list,
    "aria-activedescendant": `${list}-${chosen}`,
  }
}

/** Where a character is, below its line: measured in the layer of colours, which has the same letters at the same places. */
function placeOf(frame: HTMLElement | null, layer: HTMLElement | null, offset: number) {
  if (frame === null || layer === null) return { left: 0, top: 0 }
  const range = document.createRange()
  const walker = document.createTreeWalker(layer, NodeFilter.SHOW_TEXT)
  let rest = offset
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const { length } = node as Text
    if (rest < length) {
      // One character, because an empty range has no place at the start of a line.
      range.setStart(node, rest)
      range.setEnd(node, rest + 1)
      break
    }
    rest -= length
  }
  const line = range.getClientRects()[0] ?? layer.getBoundingClientRect()
  const corner = frame.getBoundingClientRect()
  return { left: line.left - corner.left, top: line.bottom - corner.top }
}
