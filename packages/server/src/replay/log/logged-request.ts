import type { HeaderSource, RuleRequest } from "sluice/rules"

/**
 * A request of a log. Thousands are in memory at a time while they are sorted, so fields that few formats have are set only if
 * they exist.
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
  /** The cost of the request, if the log has it. */
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
