// The rule sets that a replay compares.

/** A rule set that the user edits for a replay. */
export interface Draft {
  /** Identifies the draft in this page only. */
  readonly id: number
  readonly name: string
  readonly yaml: string
}

/** At most this many rule sets, with the one in force. Each adds a line to the chart and the time of a whole replay. */
export const MAX_CANDIDATES = 4

/** How a draft is made from the rules in force. */
export type Start = "copy" | "half" | "twice"
const FACTORS: Readonly<Record<Start, number>> = { copy: 1, half: 0.5, twice: 2 }

/** The numbers in `limit: 5` and `{ limit: 5, window: 1m }`, but not in `my-limit: 5`. */
const LIMITS = /(?<=(?:^|[{,[-])\s*(?:limit|burst|maxBurst): +)\d+(?=\s*(?:[,}#]|$))/gm

/** The rules with every limit scaled. A limit stays at least 1. */
export function startedFrom(yaml: string, start: Start): string {
  const factor = FACTORS[start]
  return factor === 1
    ? yaml
    : yaml.replace(LIMITS, (limit) => String(Math.max(1, Math.round(Number(limit) * factor))))
}

/** The name, with a number behind it if another draft has it already. */
export function freeName(wanted: string, taken: readonly string[]): string {
  let name = wanted
  for (let i = 2; taken.includes(name); i++) name = `${wanted} ${i}`
  return name
}
