/** What a replay found. Plain data: as JSON it is the machine-readable report. */
export interface ReplayReport {
  /** How the log was read: `combined`, `nginx`, `caddy` … */
  readonly format: string
  readonly lines: number
  /** Of the log, unpacked. */
  readonly bytes: number
  /** Lines that were read as requests: all but empty, commented and unreadable ones. */
  readonly requests: number
  readonly unreadable: { readonly count: number; readonly first: readonly UnreadableLine[] }
  /** The earliest and the latest request, in milliseconds since 1970; undefined without any. */
  readonly from: number | undefined
  readonly to: number | undefined
  readonly disorder: Disorder
  /** Different clients: users where the log names them, addresses elsewhere. */
  readonly clients: Distinct
  /** The length of one step of every `series`, in milliseconds: a second, and longer for a log of more than 25 minutes. */
  readonly stepMs: number
  readonly candidates: readonly CandidateReport[]
}

export interface UnreadableLine {
  /** The first line is 1. */
  readonly line: number
  readonly reason: string
  /** The line, cut where it is long. */
  readonly text: string
}

/** Lines that are earlier than one before them. */
export interface Disorder {
  /** How many step back in time. */
  readonly lines: number
  /** The longest way back, in milliseconds. */
  readonly longestMs: number
  /** Those too late to be put in order: decided when they came, so near them the result is not exact. */
  readonly late: number
}

export interface Distinct {
  readonly count: number
  /** False when there were too many to hold: then the count is an estimate, within 2% as a rule. */
  readonly exact: boolean
}

/** What one candidate rule set would have done. */
export interface CandidateReport {
  readonly name: string
  readonly allowed: number
  readonly denied: number
  /** Allowed because there were more keys at once than are held. */
  readonly uncounted: number
  /** Allowed, and held back by a queueing leaky bucket first. */
  readonly delayed: { readonly count: number; readonly longestMs: number }
  /** In the order of the set. */
  readonly rules: readonly RuleReport[]
  /** Denials that no limit made: lists, missing keys, paths that are refused. By reason. */
  readonly deniedOutright: Readonly<Record<string, number>>
  /** Who would be hurt. */
  readonly hurt: HurtReport
  /** In order of time, one entry for each step that has requests. */
  readonly series: readonly SeriesStep[]
  /** The minutes with the most denials, the worst first; at most 10. */
  readonly worstMinutes: readonly SeriesStep[]
}

export interface RuleReport {
  readonly id: string
  readonly mode: "enforce" | "shadow" | "off"
  /** Requests that the rule was asked about. */
  readonly requests: number
  /** Requests it denied. When several rules deny one request, each has it. */
  readonly denied: number
  /** Requests that it would have denied, being in shadow, or that its candidate limits would have. */
  readonly shadowDenied: number
  /** The keys that it denied most, shadows too, the most denied first; at most 20. */
  readonly keys: readonly DeniedKey[]
}

export interface DeniedKey {
  readonly key: string
  readonly denied: number
}

export interface HurtReport {
  /** Different clients with at least one request denied. */
  readonly clients: Distinct
  /** Clients by the share of their requests that was denied. The bounds are upper ones, the last is 1. */
  readonly shares: readonly { readonly upTo: number; readonly clients: number }[]
  /** The clients with the most denials, the most denied first; at most 20. */
  readonly most: readonly HurtClient[]
}

export interface HurtClient {
  /** `ip:192.0.2.1`, `user:42`. */
  readonly client: string
  readonly requests: number
  readonly denied: number
  /** When the first and the last of them were denied, in milliseconds since 1970. */
  readonly firstDenied: number
  readonly lastDenied: number
}

export interface SeriesStep {
  /** When the step begins, in milliseconds since 1970. */
  readonly at: number
  readonly requests: number
  readonly denied: number
  /** By rules in shadow, and by candidate limits. */
  readonly shadowDenied: number
}
