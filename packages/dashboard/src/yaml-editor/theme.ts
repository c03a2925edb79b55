// The look of the editor. Every colour comes from style/tokens.css: custom properties also apply inside a shadow root.

import { HighlightStyle, syntaxHighlighting } from "@codemirror/language"
import { EditorView } from "@codemirror/view"
import { tags } from "@lezer/highlight"

const BUTTON = {
  padding: "3px var(--space-2)",
  border: "1px solid var(--line-strong)",
  borderRadius: "4px",
  background: "var(--surface)",
  backgroundImage: "none",
  font: "var(--size-small) / 1.5 var(--font)",
  color: "var(--text)",
  cursor: "pointer",
}

const FOCUS = { outline: "2px solid var(--focus)", outlineOffset: "1px" }

const surface = EditorView.theme({
  "&": { maxHeight: "min(62dvh, 640px)", color: "var(--text)", backgroundColor: "var(--surface)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { minHeight: "240px", font: "13px / 20px var(--mono)" },
  ".cm-content": { padding: "var(--space-2) 0", caretColor: "var(--text)" },
  ".cm-line": { padding: "0 var(--space-3)" },
  ".cm-content ::selection, .cm-content::selection": {
    backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent)",
  },
  ".cm-gutters": { border: "0", backgroundColor: "var(--inset)", color: "var(--text-soft)" },
  ".cm-lineNumbers .cm-gutterElement": { padding: "0 2px 0 var(--space-2)" },
  ".cm-foldGutter .cm-gutterElement": { padding: "0 var(--space-1)", cursor: "pointer" },
  ".cm-foldPlaceholder": {
    border: "1px solid var(--line-strong)",
    backgroundColor: "var(--inset)",
    color: "var(--text-soft)",
  },
  ".cm-matchingBracket, &.cm-focused .cm-matchingBracket": { backgroundColor: "var(--accent-soft)" },
  ".cm-nonmatchingBracket, &.cm-focused .cm-nonmatchingBracket": { backgroundColor: "var(--denied-soft)" },
})

/** The lint package draws with `data:` images, which the content security policy of the page blocks. */
const mistakes = EditorView.theme({
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--denied) 1px",
    textUnderlineOffset: "3px",
  },
  ".cm-lintPoint-error:after": { borderBottomColor: "var(--denied)" },
  ".cm-gutter-lint": { width: "14px" },
  ".cm-gutter-lint .cm-gutterElement": { padding: "0" },
  ".cm-lint-marker": { width: "14px", height: "20px", textAlign: "center" },
  ".cm-lint-marker-error": { content: "none" },
  ".cm-lint-marker-error:before": { content: '"!"', fontWeight: "700", color: "var(--denied)" },
  ".cm-diagnostic": { padding: "var(--space-1) var(--space-2)", font: "var(--size-small) / 1.5 var(--font)" },
  ".cm-diagnostic-error": { borderLeft: "3px solid var(--denied)" },
})

const floating = EditorView.theme({
  ".cm-tooltip": {
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--radius)",
    backgroundColor: "var(--surface)",
    boxShadow: "var(--floating)",
    color: "var(--text)",
    overflow: "hidden",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {
    maxWidth: "min(520px, 86vw)",
    maxHeight: "220px",
    font: "13px / 1.5 var(--mono)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": {
    display: "flex",
    gap: "var(--space-3)",
    padding: "3px var(--space-2)",
  },
  ".cm-tooltip-autocomplete ul li[aria-selected]": {
    backgroundColor: "var(--accent-soft)",
    boxShadow: "inset 2px 0 var(--accent)",
    color: "var(--text)",
  },
  ".cm-completionDetail": {
    marginLeft: "0",
    overflow: "hidden",
    fontFamily: "var(--font)",
    fontStyle: "normal",
    textOverflow: "ellipsis",
    color: "var(--text-soft)",
  },
})

const panels = EditorView.theme({
  ".cm-panels": { zIndex: "2", backgroundColor: "var(--inset)", color: "var(--text)" },
  ".cm-panels-top": { borderBottom: "1px solid var(--line)" },
  ".cm-panels-bottom": { borderTop: "1px solid var(--line)" },
  ".cm-editor-keys": {
    margin: "0",
    padding: "2px var(--space-3)",
    font: "var(--size-small) / 1.6 var(--font)",
    color: "var(--text-soft)",
  },
  ".cm-panel.cm-search": {
    padding: "var(--space-2) 32px var(--space-2) var(--space-2)",
    font: "var(--size-small) / 1.5 var(--font)",
  },
  ".cm-panel.cm-search label": {
    display: "inline-flex",
    gap: "4px",
    alignItems: "center",
    fontSize: "var(--size-small)",
  },
  ".cm-textfield": {
    padding: "3px var(--space-2)",
    border: "1px solid var(--line-strong)",
    borderRadius: "4px",
    backgroundColor: "var(--surface)",
    font: "var(--size-small) / 1.5 var(--font)",
    color: "var(--text)",
  },
  ".cm-button": BUTTON,
  ".cm-button:active": { backgroundImage: "none", background: "var(--inset)" },
  ".cm-textfield:focus-visible, .cm-button:focus-visible, .cm-panel input:focus-visible": FOCUS,
  ".cm-panel.cm-search [name=close]": {
    width: "24px",
    height: "24px",
    color: "var(--text-soft)",
    fontSize: "16px",
    cursor: "pointer",
  },
  ".cm-panel.cm-search [name=close]:focus-visible": FOCUS,
  ".cm-searchMatch": { backgroundColor: "var(--degraded-soft)", outline: "1px solid var(--degraded)" },
  ".cm-searchMatch-selected": { backgroundColor: "var(--accent-soft)", outline: "2px solid var(--accent)" },
})

const colours = HighlightStyle.define([
  { tag: tags.definition(tags.propertyName), color: "var(--accent)" },
  { tag: [tags.content, tags.string], color: "var(--text)" },
  { tag: [tags.punctuation, tags.separator, tags.brace, tags.squareBracket], color: "var(--text-soft)" },
  { tag: tags.comment, color: "var(--text-soft)", fontStyle: "italic" },
  { tag: [tags.typeName, tags.labelName, tags.keyword, tags.meta], color: "var(--degraded)" },
])

export const theme = [surface, mistakes, floating, panels, syntaxHighlighting(colours)]
