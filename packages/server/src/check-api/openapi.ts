// The description of the check API (OpenAPI 3.1), for programs: GET /openapi.json.

type Schema = Readonly<Record<string, unknown>>

const text: Schema = { type: "string" }
const number: Schema = { type: "number" }
const boolean: Schema = { type: "boolean" }
const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
const list = (items: Schema): Schema => ({ type: "array", items })
const about = (schema: Schema, description: string): Schema => ({ ...schema, description })
const waiting = (description: string): Schema =>
  about({ anyOf: [number, { const: "never" }] }, `Milliseconds. ${description}`)
const amount = (description: string): Schema => about({ type: ["number", "null"] }, description)

const status: Schema = {
  name: "status",
  in: "query",
  description: "The status of a denial. Default: 200.",
  schema: { type: "integer", minimum: 400, maximum: 599 },
}
const small: Schema = {
  name: "answer",
  in: "query",
  description: "small: the answer has five fields, and no headers about limits.",
  schema: { enum: ["small"] },
}

const charge = {
  cost: about({ type: "integer", minimum: 0 }, "Replaces the cost of the rules. 0 charges nothing."),
  at: about(
    number,
    "The time of the request in milliseconds since 1970. Default: now, by the clock of the store.",
  ),
}
const requestFields = {
  method: text,
  host: text,
  path: about(text, "May include a query."),
  headers: { type: "object", additionalProperties: { anyOf: [text, list(text)] } },
  ip: about(text, "The address of the peer that is connected to the caller."),
  user: text,
  apiKey: about(text, "Is hashed at once."),
  tier: text,
  client: text,
  route: about(text, "The caller's name for the endpoint, such as /items/:id."),
  domain: about(text, "Of an Envoy rate limit request."),
  descriptors: list({
    type: "object",
    required: ["entries"],
    properties: {
      entries: list({ type: "object", required: ["key", "value"], properties: { key: text, value: text } }),
      cost: { type: "integer", minimum: 0 },
    },
  }),
  body: about({ type: "object" }, "The JSON body of the request, for rules that charge by it."),
}
const keyFields = { rule: text, key: about(text, "As decisions show it: user:42."), tier: text }

const smallFields = {
  allowed: boolean,
  limit: amount("Of the tightest limit. null if nothing limits."),
  remaining: amount("The largest cost that would be allowed now."),
  retryAfterMs: waiting(
    "0 if allowed, else the shortest wait after which the same request is allowed. For a cost of 0: until one unit is allowed.",
  ),
  resetAfterMs: waiting("Until the key has its full limit again."),
}

const object = (properties: Schema, required: readonly string[] = [], isClosed = true): Schema => ({
  type: "object",
  properties,
  required,
  ...(isClosed ? { additionalProperties: false } : {}),
})

const decisionFields = {
  ...smallFields,
  used: about({ type: "integer" }, "Units that count now under the tightest limit. They may exceed it."),
  windowMs: about(number, "The window of the tightest limit. 0 if nothing limits."),
  resetAt: about(number, "resetAfterMs as a time in milliseconds since 1970."),
  delayMs: about(number, "How long to hold the request."),
  reason: text,
  rule: text,
  limitName: text,
  key: text,
  rules: about(list({ type: "object" }), "Every rule that matched, unless it is one rule with one limit."),
  deniedBy: text,
  ambiguous: text,
  degraded: about({ enum: ["allow", "deny", "local"] }, "Set if the store was unavailable."),
  source: about(
    { enum: ["store", "lease", "local"] },
    "Who decided, for limits with leases: the store, a lease of this instance, or its local counters.",
  ),
  tier: text,
  shadowDenied: list(text),
  revision: { type: "integer" },
}
const holdFields = {
  hold: about(
    text,
    "The id of the hold, for /v1/release and /v1/extend. Absent if the request holds nothing.",
  ),
  holdMs: about(number, "After so many milliseconds the hold ends by itself."),
}

const reservationFields = {
  reservation: about(text, "For /v1/settle. Absent if the request is denied."),
  settleBefore: about(number, "Until then the reservation can be settled, in milliseconds since 1970."),
}
const reserveOptions = {
  cost: about(
    { type: "integer", minimum: 0 },
    "The estimate. It replaces the cost of rules that take their cost from the response; without such a rule, of all rules.",
  ),
  overdraft: about(
    { enum: ["charge", "forgive"] },
    "More than the estimate: charge it beyond the limit (the default), or as far as it fits.",
  ),
  hold: about(
    { anyOf: [number, text] },
    "How long the reservation can be settled: milliseconds or text such as 5m. 1s to 24h, default 10m.",
  ),
}

const five = Object.keys(smallFields)
const always = [...five, "used", "windowMs", "resetAt", "delayMs", "reason", "revision"]
const schemas = {
  RequestQuestion: object({ ...requestFields, ...charge }),
  KeyQuestion: object({ ...keyFields, ...charge }, ["rule", "key"]),
  SmallDecision: object(smallFields, five),
  Decision: object(decisionFields, always),
  RequestAcquire: object({ ...requestFields, cost: charge.cost }),
  KeyAcquire: object({ ...keyFields, cost: charge.cost }, ["rule", "key"]),
  AcquiredDecision: object({ ...decisionFields, ...holdFields }, always),
  SmallAcquiredDecision: object({ ...smallFields, ...holdFields }, five),
  RequestReserve: object({ ...requestFields, ...reserveOptions }),
  KeyReserve: object({ ...keyFields, ...reserveOptions }, ["rule", "key"]),
  ReservedDecision: object({ ...decisionFields, ...reservationFields }, always),
  SmallReservedDecision: object({ ...smallFields, ...reservationFields }, five),
  Problem: object({ type: text, title: text, status: number, detail: text, code: text }, ["status"], false),
}

const question: Schema = { anyOf: [ref("RequestQuestion"), ref("KeyQuestion")] }
const json = (schema: Schema): Schema => ({ "application/json": { schema } })
const problem = {
  description: "A problem.",
  content: { "application/problem+json": { schema: ref("Problem") } },
}

function post(operationId: string, summary: string, body: Schema, answer: Schema, parameters: Schema[] = []) {
  const responses = { 200: { description: "The answer.", content: json(answer) }, default: problem }
  return {
    post: {
      operationId,
      summary,
      parameters,
      requestBody: { required: true, content: json(body) },
      responses,
    },
  }
}

function get(operationId: string, summary: string, answer: Schema) {
  const responses = { 200: { description: "The answer.", content: json(answer) }, default: problem }
  return { get: { operationId, summary, responses } }
}

const decided: Schema = { anyOf: [ref("Decision"), ref("SmallDecision")] }
const holdQuestion = object({ hold: holdFields.hold }, ["hold"])
const keyQuestion = object({ ...keyFields, cost: charge.cost }, ["rule", "key"])

export const checkApiDescription = {
  openapi: "3.1.0",
  info: {
    title: "Sluice check API",
    /** Replaced by the version of the service. */
    version: "0.0.0",
    description: "Decides about requests. docs/service.md describes it for people.",
  },
  paths: {
    "/v1/check": post("check", "Decide, and charge if allowed", question, decided, [status, small]),
    "/v1/check/batch": post(
      "checkBatch",
      "Decide several checks, in order",
      object({ checks: list(question) }, ["checks"]),
      object({ results: list({ anyOf: [ref("Decision"), object({ problem: ref("Problem") })] }) }, [
        "results",
      ]),
    ),
    "/v1/peek": post("peek", "Decide, and charge nothing", question, decided, [status, small]),
    "/v1/refund": post("refund", "Give back a charge", keyQuestion, ref("Decision")),
    "/v1/reset": post(
      "reset",
      "Forget the charges of a key",
      object(keyFields, ["rule", "key"]),
      ref("Decision"),
    ),
    "/v1/acquire": post(
      "acquire",
      "Decide, charge if allowed, and hold what limits of concurrency count",
      { anyOf: [ref("RequestAcquire"), ref("KeyAcquire")] },
      { anyOf: [ref("AcquiredDecision"), ref("SmallAcquiredDecision")] },
      [status, small],
    ),
    "/v1/release": post("release", "End a hold", holdQuestion, object({ released: boolean }, ["released"])),
    "/v1/extend": post(
      "extend",
      "Let a hold begin again",
      holdQuestion,
      object({ extended: boolean }, ["extended"]),
    ),
    "/v1/reserve": post(
      "reserve",
      "Decide, and charge an estimate if allowed",
      { anyOf: [ref("RequestReserve"), ref("KeyReserve")] },
      { anyOf: [ref("ReservedDecision"), ref("SmallReservedDecision")] },
      [status, small],
    ),
    "/v1/settle": post(
      "settle",
      "Correct a reservation to its real cost, once; 0 cancels it",
      object(
        {
          reservation: reservationFields.reservation,
          cost: about({ type: "integer", minimum: 0 }, "The real cost."),
        },
        ["reservation", "cost"],
      ),
      object({ settled: { const: true } }, ["settled"]),
    ),
    "/v1/explain": post(
      "explain",
      "Which rules match a request, and why the others do not",
      ref("RequestQuestion"),
      { type: "object" },
    ),
    "/livez": get("live", "Whether the process runs", { type: "object" }),
    "/readyz": get("ready", "Whether the service accepts traffic", { type: "object" }),
    "/openapi.json": get("describe", "This description", { type: "object" }),
  },
  components: { schemas },
}

/** The description as JSON, with the version of the service. */
export function describeCheckApi(version: string): string {
  return JSON.stringify({ ...checkApiDescription, info: { ...checkApiDescription.info, version } })
}
