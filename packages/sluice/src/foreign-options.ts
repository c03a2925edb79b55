// The names that other rate limiters use for options of this one: express-rate-limit, rate-limiter-flexible,
// @upstash/ratelimit, @fastify/rate-limit, @nestjs/throttler.

interface Counterpart {
  /** The option here. */
  readonly use: string
  /** What differs besides the name, such as the unit. */
  readonly note?: (value: unknown) => string
}

const milliseconds = (): string => 'it takes milliseconds too, or text like "1m"'
const seconds = (value: unknown): string =>
  typeof value === "number"
    ? `a number is milliseconds there, not seconds: write "${value}s"`
    : 'it takes text like "60s"'
const says = (text: string) => (): string => text

const COUNTERPARTS: Readonly<Record<string, Counterpart>> = {
  max: { use: "limit" },
  points: { use: "limit" },
  tokens: { use: "limit" },
  requests: { use: "limit" },
  windowMs: { use: "window", note: milliseconds },
  timeWindow: { use: "window", note: says('it takes milliseconds or text like "1m", not "1 minute"') },
  ttl: { use: "window", note: milliseconds },
  duration: { use: "window", note: seconds },
  throttlers: { use: "limits" },
  keyGenerator: { use: "key" },
  getTracker: { use: "key" },
  generateKey: { use: "key" },
  keyPrefix: { use: "prefix" },
  nameSpace: { use: "prefix" },
  message: { use: "body" },
  errorResponseBuilder: { use: "body" },
  errorMessage: { use: "body" },
  statusCode: { use: "status" },
  handler: { use: "onDenied" },
  standardHeaders: {
    use: "headers",
    note: says('one of "both", "legacy", "draft-6", "draft-7", "draft-8", "none"'),
  },
  legacyHeaders: { use: "headers", note: says('"draft-8" leaves the legacy headers out') },
  addHeaders: { use: "headerNames", note: says("false leaves a header out") },
  addHeadersOnExceeding: { use: "headerNames", note: says("false leaves a header out") },
  requestPropertyName: { use: "requestProperty" },
  enableDraftSpec: { use: "headers", note: says('"draft-8"') },
  allowList: { use: "skip", note: says("a function that returns true for requests that are not limited") },
  skipIf: { use: "skip" },
  passOnStoreError: { use: "onStoreFailure", note: says('"allow" lets requests pass') },
  skipOnError: { use: "onStoreFailure", note: says('"allow" lets requests pass') },
  insuranceLimiter: { use: "onStoreFailure", note: says('"local", the default, counts in memory meanwhile') },
  storeClient: { use: "store", note: says("redisStore(client)") },
  redis: { use: "store", note: says("redisStore(client)") },
  onExceeded: { use: "onDecision" },
  onExceeding: { use: "onDecision" },
  execEvenly: {
    use: "overflow",
    note: says('with algorithm: "leaky-bucket", "queue" spaces requests evenly'),
  },
}

/** What to write instead of an option of another rate limiter, if it has a counterpart among `fields`. */
export function counterpartOf(field: string, value: unknown, fields: readonly string[]): string | undefined {
  const found = Object.hasOwn(COUNTERPARTS, field) ? COUNTERPARTS[field] : undefined
  if (found === undefined || !fields.includes(found.use)) return undefined
  const question = `did you mean ${found.use}?`
  return found.note === undefined ? question : `${question} (${found.note(value)})`
}
