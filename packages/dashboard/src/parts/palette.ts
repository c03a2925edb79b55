import { colourOf } from "../theme.js"

/** The name of a custom property of the style sheet. */
export type Property = `--${string}`

/** Colours of the style sheet for a canvas, each looked up once until the theme changes. */
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
