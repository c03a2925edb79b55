import "./chart.css"
import type { Property } from "./palette.js"

/** A mark in the colour of a custom property. Set through the CSSOM: the policy of the page forbids style attributes. */
export function Swatch({ colour }: { readonly colour: Property }) {
  const set = (element: HTMLElement | null) => element?.style.setProperty("--swatch", `var(${colour})`)
  return <i class="swatch" aria-hidden="true" ref={set} />
}
