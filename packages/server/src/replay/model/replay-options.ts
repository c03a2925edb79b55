import type { RuleSetDocument } from "sluice/rules"

/** Rules to try. */
export interface Candidate {
  /** What the report calls it: the name of its file. */
  readonly name: string
  /** Parsed, or YAML or JSON text. */
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

/** What a column of a CSV file may hold. */
export type CsvField = "time" | "ip" | "method" | "path" | "host" | "user" | "apiKey" | "tier"

export type LogFormatOption =
  | LogFormatName
  /** A `log_format` of nginx: `'$remote_addr [$time_local] "$request" $status'`. */
  | { readonly nginx: string }
  /** Which column holds what, where their names do not say. */
  | { readonly csv: Readonly<Partial<Record<CsvField, string>>> }

export interface LogOptions {
  /** Default: found out from the first lines. */
  readonly format?: LogFormatOption | undefined
  /** Lines up to this much too late are put in order. Default: 60 seconds. */
  readonly disorderMs?: number | undefined
  /** After every chunk. Bytes are those of the input, packed if it is. */
  readonly onProgress?: ((progress: ReplayProgress) => void) | undefined
  /** Ends it: the promise rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
}

export interface ReplayProgress {
  readonly bytes: number
  readonly lines: number
}

export interface ReplayOptions extends LogOptions {
  /** At least one. Each runs on counters of its own. */
  readonly rules: readonly Candidate[]
  /** Keys the hashes of API keys, where rules name clients by such a hash. */
  readonly secret?: string | undefined
}

/** The bytes of a log: plain or gzip. */
export type LogChunks = AsyncIterable<Uint8Array> | Iterable<Uint8Array>
