// Numbers and times in words that fit into a line.

/** `1.5s`, `15m`, `2h 30m`: the two largest units, for people. */
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

/** The time of a change: `2026-11-15 14:03:07` UTC. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace("T", " ")
}
