// Text for one line of output: durations, counts, times, and text from elsewhere made safe to print.

/** The two largest units of a duration, rounded up: `1.5s`, `15m`, `2h 30m`. */
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.ceil(ms)}ms`
  if (ms < 10_000) return `${Math.ceil(ms / 100) / 10}s`
  const units = [
    ["d", 86_400],
    ["h", 3_600],
    ["m", 60],
    ["s", 1],
  ] as const
  let left = Math.ceil(ms / 1_000)
  // Rounded up to the second unit that is shown, because people wait that long.
  const largest = units.findIndex(([, seconds]) => left >= seconds)
  const step = units[Math.min(largest + 1, units.length - 1)]?.[1] ?? 1
  left = Math.ceil(left / step) * step
  const parts = units.flatMap(([unit, seconds]) => {
    const count = Math.floor(left / seconds)
    left -= count * seconds
    return count === 0 ? [] : [`${count}${unit}`]
  })
  return parts.slice(0, 2).join(" ")
}

/** `1 rule`, `3 rules`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`
}

/** A time in UTC: `2026-11-15 14:03:07`. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ")
}

/**
 * Escapes control characters in text that the program did not write itself (keys, comments, names), so that a terminal
 * shows them instead of acting on them.
 */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it escapes
  return text.replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => {
    const code = character.charCodeAt(0)
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u${code.toString(16)}`
  })
}
