// Whole numbers as text, put together from texts of three digits each. The engine's own way is as quick for numbers it has
// met lately, but it keeps each of them in a cache that outlives many collections: what is left of a limit is another number
// with nearly every request, and to collect the cached ones would take longer than to make them.

const THOUSAND = 1_000
const MILLION = 1_000_000
const BILLION = 1_000_000_000

/** `0` to `999`, and the same with three digits each. */
const short = /* @__PURE__ */ textsBelowThousand(1)
const padded = /* @__PURE__ */ textsBelowThousand(3)

function textsBelowThousand(digits: number): string[] {
  const texts: string[] = []
  for (let i = 0; i < THOUSAND; i++) texts.push(`${i}`.padStart(digits, "0"))
  return texts
}

/** The digits of a whole number of at least 0. */
export function digitsOf(value: number): string {
  if (value < THOUSAND) return short[value] as string
  if (value < MILLION) return `${short[(value / THOUSAND) | 0]}${padded[value % THOUSAND]}`
  if (value < BILLION) {
    const thousands = (value / THOUSAND) | 0
    const start = `${short[(thousands / THOUSAND) | 0]}${padded[thousands % THOUSAND]}`
    return `${start}${padded[value % THOUSAND]}`
  }
  return `${value}`
}
