// A YAML editor made of CodeMirror, without Preact. The page imports this file only when somebody edits YAML, so that CodeMirror
// is a chunk of its own.

import {
  acceptCompletion,
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  insertCompletionText,
  pickedCompletion,
} from "@codemirror/autocomplete"
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands"
import { yaml } from "@codemirror/lang-yaml"
import { bracketMatching, codeFolding, foldGutter, foldKeymap, indentService } from "@codemirror/language"
import {
  type Diagnostic,
  diagnosticCount,
  lintGutter,
  nextDiagnostic,
  setDiagnostics,
} from "@codemirror/lint"
import { search, searchKeymap } from "@codemirror/search"
import { Compartment, EditorState, type Extension, type Text } from "@codemirror/state"
import { EditorView, keymap, lineNumbers, showPanel } from "@codemirror/view"
import document from "sluice/rules.schema.json"
import type { Language } from "../browser/i18n.js"
import { type Suggestion, type Suggestions, suggest } from "./completion.js"
import type { Path } from "./place.js"
import { type Schema, SchemaReader } from "./schema.js"
import { phrases } from "./texts.js"
import { theme } from "./theme.js"

/** A mistake at a line of the text. Lines and columns count from 1. */
export interface Mark {
  readonly line: number
  readonly column: number
  readonly message: string
}

/** Whether the text is one rule or a whole rule set. Completion depends on it. */
export type EditedText = "rule" | "set"

/** What can change while the editor is open. */
export interface Settings {
  readonly label: string
  /** Tells which keys show suggestions, search, and leave the editor. */
  readonly keys: string
  readonly language: Language
  readonly readOnly: boolean
}

export interface CodeMirrorOptions extends Settings {
  /** A shadow root, because CodeMirror then uses constructed style sheets, which the content security policy allows. */
  readonly parent: ShadowRoot
  readonly value: string
  readonly onInput: (value: string) => void
  readonly edits: EditedText
  readonly hints: (path: Path) => readonly string[]
}

const schemas: Readonly<Record<EditedText, SchemaReader>> = {
  rule: new SchemaReader(document as Schema, ["rules", 0]),
  set: new SchemaReader(document as Schema),
}

export class CodeMirror {
  readonly #view: EditorView
  readonly #settings = new Compartment()
  /** The text that the page knows: the last one that it gave or received. */
  #known: string

  constructor({ parent, value, edits, hints, onInput, ...settings }: CodeMirrorOptions) {
    this.#known = value
    const complete = (context: CompletionContext) =>
      completionsFor(context, suggest(context.state.doc.toString(), context.pos, schemas[edits], hints))
    this.#view = new EditorView({
      root: parent,
      parent,
      doc: value,
      extensions: [
        this.#settings.of(extensionsFor(settings)),
        keymap.of([
          { key: "Tab", run: acceptCompletion },
          { key: "F8", run: nextDiagnostic },
          ...searchKeymap,
          ...foldKeymap,
          ...historyKeymap,
          ...defaultKeymap,
          indentWithTab,
        ]),
        lineNumbers(),
        lintGutter(),
        codeFolding(),
        foldGutter(),
        history(),
        bracketMatching(),
        search({ top: true }),
        autocompletion({
          override: [complete],
          icons: false,
          // The default ignores keys in the first 75 ms, so that the same keys do different things by chance.
          interactionDelay: 0,
          activateOnCompletion: ({ type }) => type === "field",
        }),
        yaml(),
        indentBelowField,
        replaceSelection,
        theme,
        EditorView.contentAttributes.of(({ state }) =>
          diagnosticCount(state) > 0 ? { "aria-invalid": "true" } : null,
        ),
        EditorView.updateListener.of(({ docChanged, state }) => {
          if (!docChanged) return
          const text = state.doc.toString()
          if (text === this.#known) return
          this.#known = text
          onInput(text)
        }),
      ],
    })
  }

  /** Replaces the text, unless it is the one that the editor reported last. The user can undo it. */
  setText(text: string): void {
    if (text === this.#known) return
    this.#known = text
    this.#view.dispatch({ changes: { from: 0, to: this.#view.state.doc.length, insert: text } })
  }

  setMarks(marks: readonly Mark[]): void {
    const { state } = this.#view
    this.#view.dispatch(setDiagnostics(state, diagnosticsOf(marks, state.doc)))
  }

  configure(settings: Settings): void {
    this.#view.dispatch({ effects: this.#settings.reconfigure(extensionsFor(settings)) })
  }

  /** Moves the focus and the cursor to a mistake. */
  show(mark: Mark): void {
    this.#view.dispatch({ selection: { anchor: offsetOf(mark, this.#view.state.doc) }, scrollIntoView: true })
    this.#view.focus()
  }

  destroy(): void {
    this.#view.destroy()
  }
}

const KEYS_ID = "keys"

function extensionsFor({ label, keys, language, readOnly }: Settings): Extension {
  return [
    EditorState.readOnly.of(readOnly),
    EditorView.editable.of(!readOnly),
    EditorState.phrases.of(phrases[language]),
    EditorView.contentAttributes.of({
      "aria-label": label,
      "aria-describedby": KEYS_ID,
      // Text that is read-only is not editable content, but the keyboard must still be able to scroll it.
      tabindex: "0",
      ...(readOnly ? { "aria-readonly": "true" } : {}),
    }),
    showPanel.of((view) => {
      const dom = view.dom.ownerDocument.createElement("p")
      dom.id = KEYS_ID
      dom.className = "cm-editor-keys"
      dom.textContent = keys
      return { dom }
    }),
  ]
}

function completionsFor(
  { explicit, state, pos }: CompletionContext,
  found: Suggestions | undefined,
): CompletionResult | null {
  if (found === undefined) return null
  // Unless the user asks, suggestions appear only once a word or a value has begun: not on every empty line.
  const isAfterColon = /: ?$/.test(state.sliceDoc(Math.max(0, pos - 2), pos))
  const hasBegun = found.start < pos || (isAfterColon && found.list[0]?.kind === "value")
  if (!explicit && !hasBegun) return null
  // `suggest` filters and ranks.
  return { from: found.start, to: found.end, filter: false, options: found.list.map(completionOf) }
}

function completionOf({ label, insert, about, kind }: Suggestion): Completion {
  return {
    label,
    type: kind,
    ...(about === undefined ? {} : { detail: about }),
    apply: (view, completion, from, to) => {
      view.dispatch({
        ...insertCompletionText(view.state, insert, from, to),
        annotations: pickedCompletion.of(completion),
      })
    },
  }
}

/** Enter after `limits:` starts the next line one step deeper. The YAML language indents all other lines. */
const indentBelowField = indentService.of((context, pos) => {
  const { text, from } = context.lineAt(pos, -1)
  const before = text.slice(0, pos - from)
  if (!/^[^#]*:\s*(?:#.*)?$/.test(before)) return undefined
  return (/^ *(?:- +)*/.exec(before)?.[0].length ?? 0) + context.unit
})

/**
 * Replaces selected text by the character that the user types. If Chromium did it, it would try to keep the style of the selected
 * text in a `style` attribute, which the content security policy blocks and reports.
 */
const replaceSelection = EditorView.domEventHandlers({
  beforeinput({ inputType, data }, view) {
    const { state } = view
    if (inputType !== "insertText" || data === null || state.readOnly || state.selection.main.empty)
      return false
    view.dispatch({ ...state.replaceSelection(data), userEvent: "input.type", scrollIntoView: true })
    return true
  },
})

function diagnosticsOf(marks: readonly Mark[], doc: Text): Diagnostic[] {
  return marks.map((mark) => {
    const from = offsetOf(mark, doc)
    const word = /^[^\s,\]}]*/.exec(doc.sliceString(from, doc.lineAt(from).to))?.[0].length ?? 0
    return { from, to: from + word, severity: "error", message: mark.message }
  })
}

/** The offset of a line and column. The text may have changed since the service named them. */
function offsetOf({ line, column }: Mark, doc: Text): number {
  const { from, to } = doc.line(Math.min(Math.max(line, 1), doc.lines))
  return Math.min(from + Math.max(column, 1) - 1, to)
}
