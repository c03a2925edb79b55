/** The result of a replay. As JSON it is the machine-readable report. */
export interface ReplayReport {
  /** The format of the log: `combined`, `nginx`, `caddy` … */
  readonly format: string
  readonly lines: number
  /** The size of the log, unpacked. */
  readonly bytes: number
  /** Lines with a request: all but empty lines, comments and unreadable ones. */
  readonly requests: number
  readonly unreadable: { readonly count: number; readonly first: readonly UnreadableLine[] }
  /** The times of the earliest and the latest request, in milliseconds since 1970. Undefined without requests. */
  readonly from: number | undefined
  readonly to: number | undefined
  readonly disorder: Disorder
  /** Distinct clients: users if the log names them, addresses otherwise. */
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

/** Lines with an earlier time than a line before them. */
export interface Disorder {
  /** How many there are. */
  readonly lines: number
  /** The largest step back in time, in milliseconds. */
  readonly longestMs: number
  /** How many were too late to sort. The replay decided them in the order of the log, so the result is inexact around them. */
  readonly late: number
}

export interface Distinct {
  readonly count: number
  /** False if there were too many to count exactly. The count is then an estimate, usually within 2 %. */
  readonly exact: boolean
}

/** What one candidate rule set would have done. */
export interface CandidateReport {
  readonly name: string
  readonly allowed: number
  readonly denied: number
  /** Allowed because the store was full of keys. */
  readonly uncounted: number
  /** Allowed after a delay by a queueing leaky bucket. */
  readonly delayed: { readonly count: number; readonly longestMs: number }
  /** Allowed requests that held something by limits of concurrency. */
  readonly holds: ReplayedHoldsReport
  /** Allowed requests that a rule charged whose cost comes from the response. */
  readonly costs: ReplayedCostsReport
  /** In the order of the rule set. */
  readonly rules: readonly RuleReport[]
  /** Denials by other reasons than a limit: lists, missing keys, refused paths. */
  readonly deniedOutright: Readonly<Record<string, number>>
  /** The clients that would be denied. */
  readonly hurt: HurtReport
  /** One entry per step with requests, in order of time. */
  readonly series: readonly SeriesStep[]
  /** The minutes with the most denials, worst first. At most 10. */
  readonly worstMinutes: readonly SeriesStep[]
}

export interface ReplayedHoldsReport {
  /** The log tells how long these took: they held for that long. */
  readonly timed: number
  /** The log does not tell it: they held nothing while the next request was decided. Limits of concurrency denied too little. */
  readonly untimed: number
}

export interface ReplayedCostsReport {
  /** The log tells the real cost of these. */
  readonly settled: number
  /** The log does not tell it: they were charged the estimate. */
  readonly estimated: number
}

export interface RuleReport {
  readonly id: string
  readonly mode: "enforce" | "shadow" | "off"
  /** Requests that matched the rule. */
  readonly requests: number
  /** Requests that the rule denied. A request that several rules deny counts for each. */
  readonly denied: number
  /** Requests that the rule would have denied, if it is in shadow mode or has candidate limits. */
  readonly shadowDenied: number
  /** The keys with the most denials, shadow denials included, most denied first. At most 20. */
  readonly keys: readonly DeniedKey[]
}

export interface DeniedKey {
  readonly key: string
  readonly denied: number
}

export interface HurtReport {
  /** Distinct clients with at least one denial. */
  readonly clients: Distinct
  /** Clients by the share of their requests that was denied. `upTo` is an upper bound; the last is 1. */
  readonly shares: readonly { readonly upTo: number; readonly clients: number }[]
  /** The clients with the most denials, most denied first. At most 20. */
  readonly most: readonly HurtClient[]
}

export interface HurtClient {
  /** `ip:192.0.2.1`, `user:42`. */
  readonly client: string
  readonly requests: number
  readonly denied: number
  /** The times of the first and the last denial, in milliseconds since 1970. */
  readonly firstDenied: number
  readonly lastDenied: number
}

export interface SeriesStep {
  /** When the step begins, in milliseconds since 1970. */
  readonly at: number
  readonly requests: number
  readonly denied: number
  /** Denials by rules in shadow mode and by candidate limits. */
  readonly shadowDenied: number
}
