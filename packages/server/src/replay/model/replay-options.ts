import type { RuleSetDocument } from "sluice/rules"

/** A rule set to try. */
export interface Candidate {
  /** The name in the report, usually the file name. */
  readonly name: string
  /** A parsed rule set, or YAML or JSON text. */
  readonly ruleSet: RuleSetDocument | string
}

export const LOG_FORMATS = [
  "common",
  "combined",
  "nginx",
  "caddy",
  "traefik",
  "envoy",
  "alb",
  "cloudfront",
  "csv",
  "record",
] as const

export type LogFormatName = (typeof LOG_FORMATS)[number]

/** What a CSV column may hold. */
export type CsvField = "time" | "ip" | "method" | "path" | "host" | "user" | "apiKey" | "tier" | "bytes"

export type LogFormatOption =
  | LogFormatName
  /** A `log_format` of nginx: `'$remote_addr [$time_local] "$request" $status'`. */
  | { readonly nginx: string }
  /** The columns by what they hold, if their names do not tell. */
  | { readonly csv: Readonly<Partial<Record<CsvField, string>>> }

/** How a log tells the real cost of a request. */
export type LoggedCost =
  /** A field of the log, or several with their weights: the cost is their sum. */
  | { readonly field: string | Readonly<Record<string, number>> }
  /** The size of the response: so many bytes are one unit. */
  | { readonly bytesPerUnit: number }

export interface LogOptions {
  /** Default: detected from the first lines. */
  readonly format?: LogFormatOption | undefined
  /** Lines that are at most this late are sorted. Default: 60 seconds. */
  readonly disorderMs?: number | undefined
  /** Called after every chunk. `bytes` counts the input as it is, compressed or not. */
  readonly onProgress?: ((progress: ReplayProgress) => void) | undefined
  /** Ends the replay. The promise rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
}

export interface ReplayProgress {
  readonly bytes: number
  readonly lines: number
}

export interface ReplayOptions extends LogOptions {
  /** At least one candidate. Each has its own counters. */
  readonly rules: readonly Candidate[]
  /** Settles the rules that take their cost from the response. Default: these rules keep their estimate. */
  readonly cost?: LoggedCost | undefined
  /** The secret for hashes of API keys, if rules name clients by such a hash. */
  readonly secret?: string | undefined
}

/** The bytes of a log, plain or gzip. */
export type LogChunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>
