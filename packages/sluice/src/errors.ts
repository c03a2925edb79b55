import { type ClassOf, isInstance, markOf } from "./kind.js"

/** Every code a SluiceError may carry, with what it means. docs/errors.md lists the same codes; a test compares both. */
export const errorCodes = {
  OPTION_UNKNOWN: "An option that does not exist, usually a misspelling.",
  OPTION_TYPE: "An option of the wrong type.",
  OPTION_CONFLICT: "Two options that exclude each other, or one that the algorithm does not take.",
  OPTION_MISSING: "An option that is required.",
  ALGORITHM_UNKNOWN: "An algorithm name that does not exist.",
  LIMIT_INVALID: "A limit, burst or number of buckets that is not a whole number in range.",
  LIMIT_NAME_DUPLICATE: "Two limits of one limiter with the same name.",
  WINDOW_INVALID: "A window that is no duration, too short or too long, or does not divide into its buckets.",
  DURATION_INVALID: "A duration that cannot be read.",
  POLICY_TOO_LARGE: "Numbers too large for exact arithmetic.",
  KEY_INVALID: "A key that is not a string of at least one character.",
  COST_INVALID: "A cost that is not a whole number of at least 0.",
  TIME_INVALID: "A timestamp that is not a time after 1970 in milliseconds.",
  PATTERN_INVALID:
    "A path, host, method or value of a rule's match that cannot be read, or could never match.",
  LIMITER_CLOSED: "A wait that ended because the limiter was closed.",
  STORE_NOT_SYNC: "A synchronous call on a store that only answers asynchronously.",
  STORE_CLOSED: "A call on a store that was closed.",
  SNAPSHOT_INVALID:
    "A snapshot file that is damaged or of another version. It is ignored and the store starts empty.",
  SNAPSHOT_IO: "A snapshot file that could not be read or written.",
  REDIS_URL_INVALID: "A Redis URL that cannot be read. Passwords in it are never shown.",
  REDIS_TOO_OLD: "A warning: this Redis is older than the scripts of the store were tested on.",
  REDIS_EVICTS: "A warning: this Redis may drop counters when its memory is full.",
  RULES_INVALID: "A rule set that was refused. `problems` lists every mistake in it.",
  RULES_SYNTAX: "Text that is no YAML or JSON, too large or nested too deeply.",
  RULE_UNKNOWN_FIELD: "A field of a rule set that does not exist, usually a misspelling.",
  RULE_FIELD_INVALID:
    "A field of a rule set with a value it cannot have, or one that is required and not there.",
  RULE_DUPLICATE: "Two rules with the same id.",
  RULE_REFERENCE_UNKNOWN: "A rule set that names a rule or parameter that is not there.",
  RULE_OUT_OF_BOUNDS: "A rule set outside the bounds that an administrator has set.",
  RULE_UNKNOWN: "The id of a rule that does not exist.",
  CLIENT_INVALID: "The name of a client that cannot be read, or an API key in clear.",
  SECRET_MISSING: "Rules that count by API key in a shared store need a secret to hash the keys with.",
  CLIENT_MISSING: "A package that has to be installed for this.",
  CIDR_INVALID: "An address or a range of addresses that cannot be read.",
  TRUST_PROXY_INVALID: "A trustProxy that does not say which proxies to believe.",
  RULES_CONFLICT: "A rule set that was edited on a revision that is no longer in force.",
  RULES_UNAVAILABLE: "Rules in Redis that cannot be reached, and no copy of them to start from.",
  RULES_REVISION_UNKNOWN: "A revision of the rules that never was, or that is no longer kept.",
  RULES_IO: "A file of rules, or one that belongs to it, that could not be read or written.",
  CONFIG_INVALID: "A configuration of the service that was refused. `problems` lists every mistake in it.",
  CERTIFICATE_INVALID: "A file of a certificate, a key or an authority of the gateway that cannot be used.",
  ACCESS_LOG_IO: "An access log of the gateway that cannot be written.",
  USAGE_INVALID: "A command line with an unknown command or option, or a value that cannot be read.",
  SERVICE_UNREACHABLE: "A service that does not answer a command, or answers as no Sluice does.",
  BODY_INVALID_JSON: "A request body that is not JSON.",
  BODY_NOT_OBJECT: "A request body that is not a JSON object.",
  BODY_UNKNOWN_FIELD: "A request body with a field that does not exist.",
  BODY_FIELD_INVALID: "A request body with a field that has the wrong value, or lacks one.",
  BODY_TOO_LARGE: "A request body of too many bytes.",
  BATCH_TOO_LARGE: "A batch of too many checks.",
  QUERY_INVALID: "A query parameter that does not exist or cannot be read.",
  PATH_UNKNOWN: "A path that the service does not have.",
  METHOD_NOT_ALLOWED: "A method that the path does not take.",
  PROXY_UNTRUSTED: "An auth subrequest from a proxy that is not trusted.",
  FORWARDED_INVALID: "An auth subrequest that does not say clearly what it is about.",
  BODY_TYPE_UNSUPPORTED: "A request body of a content type that the path does not take.",
  TOKEN_INVALID: "A token of the service that is too short, or a hash of one that cannot be read.",
  TOKEN_REQUIRED: "A request without the token that it needs, or with one that is not known.",
  ROLE_REQUIRED: "A request to the control plane that the role of its token does not allow.",
  LOGIN_LIMITED: "Too many wrong tokens from one address.",
  ORIGIN_REFUSED: "A request from the page of another site, or from another machine than it may come from.",
  LISTEN_UNSAFE: "A control plane that everybody could reach, without tokens.",
  IF_MATCH_REQUIRED: "A change of the rules that does not say which revision it was made on.",
  ENTRY_UNKNOWN: "A client, list, tier or override that is not there.",
  EVENTS_FULL: "More listeners to live events than there may be.",
  EVENTS_CLOSED: "Live events of a service that is stopping.",
  AUDIT_IO: "An audit log that could not be read or written.",
  LOG_FORMAT_UNKNOWN: "An access log in a format that replay does not know.",
  LOG_FORMAT_INVALID: "A description of a log format that cannot be read, or does not fit the log.",
  RULES_BUSY: "Rules sent to be checked while too many others wait for that.",
  REPLAY_BUSY: "A log sent for replay while another is replayed.",
  REPLAY_TOO_MUCH: "A replay that took more time or memory than it may.",
  LOG_IO: "An access log that could not be read, or not to its end.",
} as const

export type ErrorCode = keyof typeof errorCodes

export interface ErrorDetails {
  /** Where: `limits[1].window`, `check("user:42")`. */
  readonly place: string
  readonly expected: string
  readonly found?: unknown
  readonly cause?: unknown
}

const MARK = /* @__PURE__ */ markOf("SluiceError")

/** A mistake by the caller. A denial is never an error, and neither is a store that fails. */
export class SluiceError extends Error {
  override readonly name = "SluiceError"
  readonly code: ErrorCode
  readonly place: string
  readonly expected: string
  readonly found: unknown

  constructor(code: ErrorCode, details: ErrorDetails) {
    const got = "found" in details ? `, got ${show(details.found)}` : ""
    super(`${details.place}: ${details.expected}${got} [${code}]`, { cause: details.cause })
    this.code = code
    this.place = details.place
    this.expected = details.expected
    this.found = details.found
  }

  /** Also true of errors of another copy of this library. */
  static override [Symbol.hasInstance]<T>(this: ClassOf<T>, value: unknown): value is T {
    // biome-ignore lint/complexity/noThisInStatic: a class that extends this one asks here, too.
    return isInstance(this, value, SluiceError, MARK)
  }

  get [MARK](): true {
    return true
  }
}

/** A value as the user wrote it, short enough for a log line. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}…` : value)
  if (typeof value === "bigint") return `${value}n`
  if (typeof value === "function") return "a function"
  if (typeof value !== "object" || value === null) return String(value)
  return Array.isArray(value) ? "an array" : "an object"
}
