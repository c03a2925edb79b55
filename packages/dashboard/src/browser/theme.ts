// The theme: the one of the system, until the user chooses another.

import { effect, signal } from "@preact/signals"
import { keep, kept } from "./kept.js"

export const THEMES = ["system", "light", "dark"] as const
export type Theme = (typeof THEMES)[number]

export const theme = signal<Theme>(kept("theme", THEMES) ?? "system")

const systemIsDark = matchMedia("(prefers-color-scheme: dark)")
const systemDark = signal(systemIsDark.matches)
systemIsDark.addEventListener("change", ({ matches }) => {
  systemDark.value = matches
})

/** Whether the page is dark now. Charts read it, so that they are drawn again when it changes. */
export function isDark(): boolean {
  return theme.value === "dark" || (theme.value === "system" && systemDark.value)
}

export function followTheme(): void {
  effect(() => {
    keep("theme", theme.value === "system" ? undefined : theme.value)
    document.documentElement.dataset.theme = theme.value
  })
}

/** The current colour of a custom property, in a form that a canvas understands: `colourOf("--allowed")` is `rgb(…)`. */
function colourOf(property: Property): string {
  const probe = document.createElement("span")
  probe.style.setProperty("color", `var(${property})`)
  document.body.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

/** The name of a custom property of the style sheet. */
export type Property = `--${string}`

/** Colours of the style sheet for a canvas. Looks up each colour once, until `forget` is called. */
export class Palette {
  readonly #known = new Map<Property, string>()

  colour(name: Property): string {
    let colour = this.#known.get(name)
    if (colour === undefined) {
      colour = colourOf(name)
      this.#known.set(name, colour)
    }
    return colour
  }

  forget(): void {
    this.#known.clear()
  }
}
