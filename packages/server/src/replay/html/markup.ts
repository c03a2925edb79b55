// HTML and SVG as text, with everything from outside escaped on its way in.

import { escapeHtml } from "../../http/escape-html.js"

/** Text that is markup already. */
export class Markup {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = string | number | Markup | readonly Markup[]

/** Markup with values in it: html`<td>${name}</td>`. Only what is Markup goes in as it is. */
export function html(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(strings.reduce((text, next, i) => text + shown(parts[i - 1] as Part) + next))
}

function shown(part: Part): string {
  if (part instanceof Markup) return part.text
  if (Array.isArray(part)) return part.map(({ text }: Markup) => text).join("")
  return escapeHtml(String(part))
}
