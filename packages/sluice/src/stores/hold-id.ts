// The ids of holds. Whoever knows the id of a hold can release and extend it, so ids are random: 96 bits.

/** Two whole numbers below 2^48, because memory stores keep numbers only. */
export interface HoldId {
  readonly high: number
  readonly low: number
}

const HALF = 2 ** 48
const DIGITS = 10
const TEXT = /^[0-9a-z]{20}$/

/** Random words, drawn for many ids at once: a call of the system for each id would take longer than the rest of an acquire. */
let words = /* @__PURE__ */ new Uint32Array(768)
let used = 768

export function newHoldId(): HoldId {
  if (used === words.length) {
    words = globalThis.crypto.getRandomValues(words)
    used = 0
  }
  const middle = words[used] as number
  const high = (words[used + 1] as number) * 65_536 + (middle >>> 16)
  const low = (words[used + 2] as number) * 65_536 + (middle & 65_535)
  // An id that was given out stays in no buffer.
  words[used] = words[used + 1] = words[used + 2] = 0
  used += 3
  return { high, low }
}

/** The id as 20 digits of base 36. */
export function holdIdText({ high, low }: HoldId): string {
  return high.toString(36).padStart(DIGITS, "0") + low.toString(36).padStart(DIGITS, "0")
}

/** Undefined if the text is no id. */
export function parseHoldId(text: string): HoldId | undefined {
  if (!TEXT.test(text)) return undefined
  const high = Number.parseInt(text.slice(0, DIGITS), 36)
  const low = Number.parseInt(text.slice(DIGITS), 36)
  return high < HALF && low < HALF ? { high, low } : undefined
}
