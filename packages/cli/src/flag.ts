import type { OptionSpec } from "./command.js"

/** The parts of `-n, --limit <count>`. */
export interface Flag {
  /** `--limit` */
  readonly long: string
  /** `-n` */
  readonly short: string | undefined
  /** `count`; undefined for a switch. */
  readonly value: string | undefined
}

export function flagOf({ flag }: OptionSpec): Flag {
  const parts = /^(?:(-\w), )?(--[\w-]+)(?: <([^>]+)>)?$/.exec(flag)
  if (parts?.[2] === undefined) throw new Error(`"${flag}" is not written as a flag is`)
  return { long: parts[2], short: parts[1], value: parts[3] }
}
