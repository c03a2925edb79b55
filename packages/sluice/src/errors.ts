/** The codes of the errors that this library throws, each with its meaning. docs/errors.md explains them. */
export const errorCodes = {
  OPTION_UNKNOWN: "The option does not exist; usually it is misspelt.",
  OPTION_TYPE: "The option has a value of the wrong type.",
  OPTION_CONFLICT: "Two options exclude each other, or the algorithm does not take the option.",
  OPTION_DOUBTFUL: "A warning: the value of the option is allowed and almost certainly a mistake.",
  OPTION_MISSING: "A required option is missing.",
  ALGORITHM_UNKNOWN: "The algorithm does not exist.",
  LIMIT_INVALID: "A limit, burst or number of buckets is not a whole number in range.",
  LIMIT_NAME_DUPLICATE: "Two limits of one limiter have the same name.",
  LIMITERS_UNNAMED:
    "A warning: two limiters without a name have the same limits on one store, so they share their counters.",
  WINDOW_INVALID:
    "The window is not a duration, is too short or too long, or does not divide into its buckets.",
  TIME_ZONE_UNKNOWN: "The runtime does not know the time zone of a calendar window.",
  PENALTY_INVALID: "A number or a duration of a penalty is out of range.",
  DURATION_INVALID: "The duration cannot be read.",
  POLICY_TOO_LARGE: "The numbers of the limit are too large for exact arithmetic.",
  LEASE_INVALID: "The limit cannot be leased, or leases of this length would leave too little of it.",
  KEY_INVALID: "The key is not a string of at least one character.",
  COST_INVALID: "The cost is not a whole number of at least 0.",
  TIME_INVALID: "The timestamp is not a time after 1970 in milliseconds.",
  PATTERN_INVALID:
    "A path, host, method or value in the match of a rule cannot be read, or could never match.",
  HOLD_REQUIRED:
    "The limiter limits what is held at a time, so the call must be `acquire`, whose hold is released.",
  HOLD_INVALID: "The text is not the id of a hold.",
  RESERVATION_UNKNOWN: "The text is not a reservation that an engine with this store and secret has made.",
  RESERVATION_EXPIRED: "The reservation was not settled in time. What it has reserved stays charged.",
  STORE_UNAVAILABLE: "The store did not answer, so it is unknown whether the call had an effect. Repeat it.",
  LIMITER_CLOSED: "The wait ended because the limiter was closed.",
  STORE_NOT_SYNC: "A synchronous call needs a store that answers synchronously.",
  STORE_CLOSED: "The store was closed before the call.",
  SNAPSHOT_INVALID:
    "The snapshot file is damaged or of another version. The store ignores it and starts empty.",
  SNAPSHOT_IO: "The snapshot file could not be read or written.",
  REDIS_URL_INVALID: "The Redis URL cannot be read. Messages never show the password in it.",
  REDIS_TOO_OLD: "A warning: this Redis is older than any version that the store was tested on.",
  REDIS_EVICTS: "A warning: this Redis may evict counters when its memory is full.",
  RULES_INVALID: "The rule set was refused. `problems` lists every mistake in it.",
  RULES_SYNTAX: "The text is not YAML or JSON, or it is too large or nested too deeply.",
  RULE_UNKNOWN_FIELD: "A field of the rule set does not exist; usually it is misspelt.",
  RULE_FIELD_INVALID: "A field of the rule set is missing or has an invalid value.",
  RULE_DUPLICATE: "Two rules have the same id.",
  RULE_REFERENCE_UNKNOWN: "The rule set refers to a rule or parameter that does not exist.",
  RULE_OUT_OF_BOUNDS: "The rule set exceeds the bounds that an administrator has set.",
  RULE_UNKNOWN: "No rule has this id.",
  CLIENT_INVALID: "The name of a client cannot be read, or contains an API key in plain text.",
  SECRET_MISSING: "Rules that count by API key in a shared store need a secret to hash the keys with.",
  CLIENT_MISSING: "A package that is needed here is not installed.",
  CIDR_INVALID: "The address or the range of addresses cannot be read.",
  ADDRESS_UNKNOWN: "A warning: the address of the client is not known, so all clients share one counter.",
  FORWARDED_IGNORED: "A warning: requests have X-Forwarded-For, and no proxy is trusted to set it.",
  COUNTED_TWICE: "A warning: the same middleware charged one request twice.",
  TRUST_PROXY_INVALID: "The value of trustProxy does not say which proxies to trust.",
  RULES_CONFLICT: "The change is based on a revision of the rules that is no longer in force.",
  RULES_UNAVAILABLE: "The rules in Redis cannot be reached, and there is no copy to start from.",
  RULES_REVISION_UNKNOWN: "The revision of the rules never existed, or is no longer kept.",
  RULES_IO: "A rule file, or a file that belongs to it, could not be read or written.",
} as const

/**
 * The codes that a `SluiceError` may carry. A package that throws errors of its own adds its codes:
 * `declare module "sluice" { interface ErrorCodes extends Record<MyCode, string> {} }`.
 */
export interface ErrorCodes extends Record<keyof typeof errorCodes, string> {}

export type ErrorCode = keyof ErrorCodes

export interface ErrorDetails {
  /** Where the mistake is: `limits[1].window`, `check("user:42")`. */
  readonly place: string
  readonly expected: string
  readonly found?: unknown
  readonly cause?: unknown
  /** Further mistakes that were found together with this one. */
  readonly others?: readonly SluiceError[]
}

/** A class, as far as its own `instanceof` needs it. */
export type ClassOf<T> = abstract new (...args: never[]) => T

/**
 * The symbol that marks instances of a class in every copy of this library. `instanceof` compares the identity of classes, and
 * a process may hold two copies of the library: two installed versions, or one that is bundled.
 */
export function markOf(name: string): symbol {
  return Symbol.for(`sluice.${name}`)
}

/**
 * Marks an instance in its constructor. The mark is no member of the class, because TypeScript would then take the classes of two
 * copies for different types.
 */
export function markInstance(instance: object, mark: symbol): void {
  Object.defineProperty(instance, mark, { value: true })
}

/** `value instanceof asked`: for the class `marked` by its mark, for classes that extend it by identity. */
export function isInstance(asked: unknown, value: unknown, marked: unknown, mark: symbol): boolean {
  if (asked === marked) return typeof value === "object" && value !== null && mark in value
  return Function.prototype[Symbol.hasInstance].call(asked as () => void, value)
}

const MARK = /* @__PURE__ */ markOf("SluiceError")

/** A mistake by the caller. Neither a denial nor a failing store is one. */
export class SluiceError extends Error {
  override readonly name = "SluiceError"
  readonly code: ErrorCode
  readonly place: string
  readonly expected: string
  readonly found: unknown
  /** Further mistakes that were found together with this one. The message tells all of them, each in a line. */
  readonly others: readonly SluiceError[]

  constructor(code: ErrorCode, details: ErrorDetails) {
    const { others = [] } = details
    const got = "found" in details ? `, got ${show(details.found)}` : ""
    const first = `${details.place}: ${details.expected}${got} [${code}]`
    super([first, ...others.map(({ message }) => message)].join("\n"), { cause: details.cause })
    this.code = code
    this.place = details.place
    this.expected = details.expected
    this.found = details.found
    this.others = others
    markInstance(this, MARK)
  }

  /** Also true for errors of another copy of this library. */
  static override [Symbol.hasInstance]<T>(this: ClassOf<T>, value: unknown): value is T {
    // biome-ignore lint/complexity/noThisInStatic: `this` may be a class that extends this one.
    return isInstance(this, value, SluiceError, MARK)
  }
}

/** The same error with another place, for each mistake in it. */
export function relocate(error: SluiceError, placeOf: (place: string) => string): SluiceError {
  const { code, expected, found, cause } = error
  const others = error.others.map((other) => relocate(other, placeOf))
  const details = { place: placeOf(error.place), expected, cause, others }
  return new SluiceError(code, found === undefined ? details : { ...details, found })
}

/** Collects the mistakes in options, so that users hear of all of them at once. */
export class Mistakes {
  readonly #found: SluiceError[] = []

  add(error: SluiceError): void {
    this.#found.push(error)
  }

  /** Returns what `read` returns. Keeps the mistake that it throws, and then returns undefined. */
  try<T>(read: () => T): T | undefined {
    try {
      return read()
    } catch (error) {
      if (!(error instanceof SluiceError)) throw error
      this.#found.push(error)
      return undefined
    }
  }

  /** Throws one error with every mistake, if there is any. */
  throwAll(): void {
    const [first, ...others] = this.#found.flatMap((error) => [error, ...error.others])
    if (first === undefined) return
    if (others.length === 0) throw first
    const { code, place, expected, found, cause } = first
    const details = { place, expected, cause, others: others.map(alone) }
    throw new SluiceError(code, found === undefined ? details : { ...details, found })
  }
}

/** The error without those that were found with it. */
function alone({ code, place, expected, found, cause }: SluiceError): SluiceError {
  return new SluiceError(
    code,
    found === undefined ? { place, expected, cause } : { place, expected, found, cause },
  )
}

/** Formats a value as the user wrote it, short enough for a log line. */
export function show(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}…` : value)
  if (typeof value === "bigint") return `${value}n`
  if (typeof value === "function") return "a function"
  if (typeof value !== "object" || value === null) return String(value)
  return Array.isArray(value) ? "an array" : "an object"
}
