// Builds HTML and SVG, and escapes every value that goes in.

import { escapeHtml } from "../../http/escape-html.js"

/** Text that is already markup. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = string | number | Markup | readonly Markup[]

/** A template tag: html`<td>${name}</td>`. It escapes every value that is not Markup. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(strings.reduce((text, next, i) => text + shown(parts[i - 1] as Part) + next))
}

function shown(part: Part): string {
  if (part instanceof Markup) return part.text
  if (Array.isArray(part)) return part.map(({ text }: Markup) => text).join("")
  return escapeHtml(String(part))
}
