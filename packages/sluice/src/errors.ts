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
  LIMITER_CLOSED: "A wait that ended because the limiter was closed.",
  STORE_NOT_SYNC: "A synchronous call on a store that only answers asynchronously.",
  STORE_CLOSED: "A call on a store that was closed.",
  SNAPSHOT_INVALID:
    "A snapshot file that is damaged or of another version. It is ignored and the store starts empty.",
  SNAPSHOT_IO: "A snapshot file that could not be read or written.",
  REDIS_URL_INVALID: "A Redis URL that cannot be read. Passwords in it are never shown.",
  REDIS_EVICTS: "A warning: this Redis may drop counters when its memory is full.",
  CLIENT_MISSING: "A package that has to be installed for this.",
} as const

export type ErrorCode = keyof typeof errorCodes

export interface ErrorDetails {
  /** Where: `limits[1].window`, `check("user:42")`. */
  readonly place: string
  readonly expected: string
  readonly found?: unknown
  readonly cause?: unknown
}

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
}

/** A value as the user wrote it, short enough for a log line. */
function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}…` : value)
  if (typeof value === "bigint") return `${value}n`
  if (typeof value === "function") return "a function"
  if (typeof value !== "object" || value === null) return String(value)
  return Array.isArray(value) ? "an array" : "an object"
}
