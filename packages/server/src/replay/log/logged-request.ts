import type { HeaderSource, RuleRequest } from "sluice/rules"

/**
 * One request as a log tells of it. A class, so that all of one log have the same shape, and a small one: thousands wait at
 * any time to be put in order. What few formats have is only there where it is.
 */
export class LoggedRequest implements RuleRequest {
  /** Milliseconds since 1970. */
  readonly at: number
  readonly ip: string | undefined
  readonly method: string | undefined
  readonly path: string | undefined
  host: string | undefined = undefined
  user: string | undefined = undefined
  headers: HeaderSource | undefined = undefined
  declare client?: string | undefined
  declare apiKey?: string | undefined
  declare tier?: string | undefined
  /** What the caller wanted charged, where the log says it. */
  declare cost?: number | undefined
  declare domain?: string | undefined
  declare descriptors?: RuleRequest["descriptors"]

  constructor(at: number, ip: string | undefined, method: string | undefined, path: string | undefined) {
    this.at = at
    this.ip = ip
    this.method = method
    this.path = path
  }
}
