import "./diff.css"
import { Fragment } from "preact"
import { t } from "../browser/i18n.js"
import { type DiffLine, diffLines } from "./diff-lines.js"
import { texts } from "./texts.js"

export interface DiffProps {
  /** What is compared. Screen readers announce it. */
  readonly label: string
  readonly before: string
  readonly after: string
}

const SIGNS: Readonly<Record<DiffLine["kind"], string>> = { same: " ", removed: "−", added: "+" }

/** The lines that differ between two texts: removed lines with a minus, added lines with a plus. */
export function Diff({ label, before, after }: DiffProps) {
  const text = t(texts).diff
  const hunks = diffLines(before, after)
  if (hunks.length === 0) return <p class="diff-none">{text.none}</p>
  const said = { same: undefined, removed: text.removed, added: text.added }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll a diff that is wider than its frame
    <section class="diff" aria-label={label} tabIndex={0}>
      <table>
        <caption class="hidden">{label}</caption>
        <tbody>
          {hunks.map((lines, i) => (
            <Fragment key={lines[0]?.before ?? lines[0]?.after}>
              {i > 0 && (
                <tr class="diff-gap">
                  <td colSpan={4}>⋯</td>
                </tr>
              )}
              {lines.map(({ kind, text: line, before: old, after: now }) => (
                <tr key={`${old} ${now}`} class={kind}>
                  <td class="diff-number">{old}</td>
                  <td class="diff-number">{now}</td>
                  <td class="diff-sign">
                    <span aria-hidden="true">{SIGNS[kind]}</span>
                    {said[kind] !== undefined && <span class="hidden">{said[kind]}</span>}
                  </td>
                  <td class="diff-text">{line}</td>
                </tr>
              ))}
            </Fragment>
          ))}
        </tbody>
      </table>
    </section>
  )
}
