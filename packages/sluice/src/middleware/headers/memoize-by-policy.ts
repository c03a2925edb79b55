import type { HeaderPolicy, HeaderStyle } from "./headers.js"

type Policies = readonly HeaderPolicy[]

/** Makes something once for a style and a list of limits, and keeps it as long as the list is there. */
export function keptByLimits<T extends object>(
  make: (style: HeaderStyle, policies: Policies) => T,
): (style: HeaderStyle, policies: Policies) => T {
  const styles = new Map<HeaderStyle, WeakMap<Policies, T>>()
  return (style, policies) => {
    let known = styles.get(style)
    if (known === undefined) {
      known = new WeakMap()
      styles.set(style, known)
    }
    let kept = known.get(policies)
    if (kept === undefined) {
      kept = make(style, policies)
      known.set(policies, kept)
    }
    return kept
  }
}
