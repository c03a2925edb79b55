// Texts and times as JSON, for what is on the path of every answer.

/** A key is seldom longer; what is, is left to the language. */
const SHORT = 64

export function quoted(text: string): string {
  return `"${inQuotes(text)}"`
}

/** What stands between the quotes. */
export function inQuotes(text: string): string {
  return text.length <= SHORT && isPlain(text) ? text : JSON.stringify(text).slice(1, -1)
}

/** No control characters, quotes or backslashes, and no halves of a character, which are not to stand alone. */
function isPlain(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 || code === 0x22 || code === 0x5c || (code >= 0xd800 && code <= 0xdfff)) return false
  }
  return true
}

export function wait(ms: number): string {
  return ms === Number.POSITIVE_INFINITY ? '"never"' : millis(ms)
}

/** Beyond this, milliseconds have no room for exact decimals. */
export const MOST_EXACT_MS = 2 ** 43
const THREE_DIGITS = Array.from({ length: 1_000 }, (_, i) => String(i).padStart(3, "0"))
const DECIMALS = THREE_DIGITS.map((digits) => `.${digits}`)

/**
 * Milliseconds, of which three decimals are known. From whole seconds and two times three digits: to find the shortest text
 * for any fraction, as the language does, takes longer than all the rest of a decision.
 */
export function millis(ms: number): string {
  if (ms === 0) return "0"
  if (!(ms >= 0 && ms < MOST_EXACT_MS)) return String(ms)
  const micros = Math.round(ms * 1_000)
  const seconds = Math.floor(micros / 1_000_000)
  const rest = micros - seconds * 1_000_000
  const thousandth = Math.floor(rest / 1_000)
  const whole = seconds === 0 ? String(thousandth) : `${seconds}${THREE_DIGITS[thousandth]}`
  const decimals = rest - thousandth * 1_000
  return decimals === 0 ? whole : `${whole}${DECIMALS[decimals]}`
}
