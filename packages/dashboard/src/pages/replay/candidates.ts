// Rule sets to try, as the page keeps them.

/** A rule set of one's own; the one in force is not among them. */
export interface Draft {
  /** For the page only. */
  readonly id: number
  readonly name: string
  readonly yaml: string
}

/** With the one in force: more would make the chart a tangle, and cost as many times the time. */
export const MOST_CANDIDATES = 4

/** How a draft starts from the rules in force. */
export type Start = "copy" | "half" | "twice"
const FACTORS: Readonly<Record<Start, number>> = { copy: 1, half: 0.5, twice: 2 }

/** `limit: 5`, `{ limit: 5, window: 1m }`, at the start of a line or inside of one; never the end of another word. */
const LIMITS = /(?<=(?:^|[{,[-])\s*(?:limit|burst|maxBurst): +)\d+(?=\s*(?:[,}#]|$))/gm

/** The rules in force with every limit scaled. At least 1: no rule allows nothing. */
export function startedFrom(yaml: string, start: Start): string {
  const factor = FACTORS[start]
  return factor === 1
    ? yaml
    : yaml.replace(LIMITS, (limit) => String(Math.max(1, Math.round(Number(limit) * factor))))
}

/** The name, or the name with a number that no other draft has. */
export function freeName(wanted: string, taken: readonly string[]): string {
  let name = wanted
  for (let i = 2; taken.includes(name); i++) name = `${wanted} ${i}`
  return name
}
