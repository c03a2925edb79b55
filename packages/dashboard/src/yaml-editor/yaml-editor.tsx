// An editor for the YAML of rules, with the list of its mistakes below it.

import "./yaml-editor.css"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import { language, t } from "../browser/i18n.js"
import { Failure, Loading } from "../parts/empty.js"
import type { CodeMirror, EditedText, Mark } from "./code-mirror.js"
import type { Hints } from "./completion.js"
import { texts } from "./texts.js"

const MODIFIER = /^(?:Mac|iP)/.test(navigator.platform) ? "Cmd" : "Ctrl"

export interface YamlEditorProps {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly edits: EditedText
  readonly hints?: Hints | undefined
  readonly marks?: readonly Mark[]
  /** Mistakes without a line. */
  readonly notes?: readonly string[]
  readonly readOnly?: boolean
}

export function YamlEditor(props: YamlEditorProps) {
  const { label, value, marks = [], notes = [], readOnly = false } = props
  const text = t(texts)
  const host = useRef<HTMLDivElement>(null)
  // CodeMirror is created once and calls the functions of the latest properties.
  const latest = useRef(props)
  latest.current = props
  const [editor, setEditor] = useState<CodeMirror>()
  const [problem, setProblem] = useState<unknown>()
  const [attempt, setAttempt] = useState(0)
  const settings = { label, keys: text.keys(MODIFIER), language: language.value, readOnly }

  useEffect(() => {
    let created: CodeMirror | undefined
    let isRemoved = false
    setProblem(undefined)
    import("./code-mirror.js").then(({ CodeMirror }) => {
      if (isRemoved || host.current === null) return
      const { value, edits } = latest.current
      created = new CodeMirror({
        ...settings,
        parent: host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" }),
        value,
        edits,
        hints: (path) => latest.current.hints?.(path) ?? [],
        onInput: (text) => latest.current.onInput(text),
      })
      setEditor(created)
    }, setProblem)
    return () => {
      isRemoved = true
      created?.destroy()
    }
  }, [attempt])
  useLayoutEffect(() => editor?.setText(value), [editor, value])
  useLayoutEffect(() => editor?.setMarks(marks), [editor, JSON.stringify(marks)])
  useLayoutEffect(() => editor?.configure(settings), [editor, JSON.stringify(settings)])

  const count = marks.length + notes.length
  return (
    <div class={count === 0 ? "yaml-editor" : "yaml-editor has-error"}>
      <div ref={host} class="yaml-code" />
      {editor === undefined && problem === undefined && <Loading />}
      {problem !== undefined && <Failure problem={problem} onRetry={() => setAttempt(attempt + 1)} />}
      <div class="yaml-state">
        <p role="status">{count === 0 ? text.fine : text.mistakes(count)}</p>
        {count > 0 && (
          <ul>
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
            {marks.map((mark) => (
              <li key={`${mark.line}:${mark.column} ${mark.message}`}>
                <button type="button" onClick={() => editor?.show(mark)}>
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
