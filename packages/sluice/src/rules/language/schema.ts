// The rule language: types, validation and the JSON Schema for editors all come from here.
//
// check-rules.ts checks what zod cannot express: patterns, clients, exact arithmetic, references between rules, bounds.

import { z } from "zod"
import type { AlgorithmName } from "../../algorithms/algorithm.js"
import { HEADER_STYLES } from "../../header-style.js"
import { algorithms } from "../../policy.js"

export const ALGORITHMS = Object.keys(algorithms) as readonly AlgorithmName[]

const text = z.string().min(1)
const oneOrMore = z.union([text, z.array(text).min(1)])
const name = z.string().min(1).max(64)

const duration = z
  .union([z.string().meta({ pattern: "^\\s*\\d+(\\.\\d+)?\\s*(ms|s|m|h|d)\\s*$" }), z.number()])
  .meta({ description: 'A number with a unit ("100ms", "10s", "1m", "2h", "1d"), or milliseconds.' })

const calendarUnit = z.enum(["hour", "day", "week", "month"]).meta({
  description: "A window of the calendar, with fixed-window only. Weeks begin on Monday.",
})

const penalty = z
  .strictObject({
    after: z.int().min(1).meta({ description: "So many denials block the key." }),
    within: duration.meta({ description: "Denials count together for this long, from the first of them." }),
    block: duration.meta({ description: "How long the first block lasts." }),
    factor: z
      .number()
      .min(1)
      .optional()
      .meta({ description: "Each further block is this many times as long. Default: 1." }),
    max: duration
      .optional()
      .meta({ description: "The longest block. Default: 1d, or block if that is longer." }),
    forget: duration.optional().meta({
      description: "After so long without a block, the next one is a first one again. Default: 1d.",
    }),
  })
  .meta({ description: "Blocks a key that this limit has denied too often." })

const limitNumber = z
  .int()
  .min(1)
  .meta({ description: "Units per window. concurrency: units held at a time." })
const windowSchema = z.union([duration, calendarUnit])

export const limitSchema = z
  .strictObject({
    name: name
      .optional()
      .meta({ description: "Shown in decisions and headers, and part of the storage key." }),
    limit: limitNumber.optional(),
    window: windowSchema.optional(),
    timeZone: text.optional().meta({
      description: "The time zone of a calendar window, such as Europe/Berlin. Default: UTC.",
    }),
    algorithm: z.enum(ALGORITHMS).optional().meta({ description: "Default: sliding-window-counter." }),
    burst: z.int().min(1).optional().meta({ description: "token-bucket, leaky-bucket: the most at once." }),
    maxBurst: z.int().min(0).optional().meta({ description: "gcra: how many at once beyond the first." }),
    buckets: z.int().min(1).optional().meta({ description: "sliding-window-counter: how finely it is cut." }),
    anchor: z.enum(["aligned", "first-request"]).optional().meta({ description: "fixed-window." }),
    overflow: z.enum(["reject", "queue"]).optional().meta({ description: "leaky-bucket." }),
    hold: duration.optional().meta({
      description:
        "concurrency, in place of window: after how long a place that nobody releases is free again.",
    }),
    penalty: penalty.optional(),
  })
  .meta({ id: "Limit", description: "One algorithm with its numbers." })

const limits = z.array(limitSchema).min(1)

const values = z
  .record(text, z.union([z.literal(true), z.string(), z.array(z.string()).min(1)]))
  .meta({ description: "Name → a value, a glob with *, a list of those, or true for any value." })

const matchSchema = z
  .strictObject({
    method: oneOrMore.optional().meta({ description: "GET, or a list." }),
    host: oneOrMore.optional().meta({ description: "api.example.com, or *.example.com." }),
    path: oneOrMore.optional().meta({ description: "/v1/**, /users/:id, /files/*.png, or a list." }),
    header: values.optional(),
    query: values.optional(),
    tier: oneOrMore.optional(),
    domain: text.optional().meta({ description: "Of an Envoy descriptor." }),
    descriptor: z
      .array(
        z.strictObject({
          key: text,
          value: z
            .string()
            .optional()
            .meta({ description: "A value, or a glob with *. Default: any value." }),
          not: z
            .array(z.string())
            .min(1)
            .optional()
            .meta({ description: "Values, or globs with *, to leave out." }),
        }),
      )
      .min(1)
      .optional()
      .meta({ description: "The entries of an Envoy descriptor: as many, with these keys, in this order." }),
  })
  .meta({ id: "Match", description: "All given parts must match. Empty: every request." })

const keyPart = text.meta({
  pattern: "^(ip|user|apiKey|method|route|host|global|descriptor|(header|query|cookie|param|descriptor):.+)$",
  description:
    "ip, user, apiKey, header:x, query:x, cookie:x, param:id, method, route, host, global, descriptor or descriptor:0.",
})

const client = text.meta({
  description: 'A client: "ip:203.0.113.7", "ip:10.0.0.0/8", "user:42" or "apiKey:<keyed hash>".',
})

const weight = z
  .number()
  .refine((value) => value >= 0 && value <= 1_000_000, "a number from 0 to 1,000,000")
  .meta({ minimum: 0, maximum: 1_000_000 })
const fieldWeights = z.union([text, z.record(text, weight)])

const bodyEstimate = z.strictObject({
  json: fieldWeights.optional().meta({
    description: 'Fields of the JSON body: "max_tokens", or weights by field ({ max_tokens: 4 }), added up.',
  }),
  bytesPerUnit: z
    .number()
    .refine((bytes) => bytes >= 0.001, "a number ≥ 0.001")
    .optional()
    .meta({
      minimum: 0.001,
      description: "Adds the length of the body: so many bytes are one unit. For texts about 4.",
    }),
  default: z
    .int()
    .min(1)
    .optional()
    .meta({ description: "In place of the fields when the body has none of them. Default: 1." }),
  max: z.int().min(1).optional().meta({ description: "The largest estimate. Default: the cost's max." }),
})

export const costSchema = z
  .union([
    z.int().min(0),
    z.strictObject({
      default: z.int().min(0).optional().meta({ description: "When nothing else says. Default: 1." }),
      by: z
        .array(
          z.strictObject({
            method: oneOrMore.optional(),
            path: oneOrMore.optional(),
            cost: z.int().min(0),
          }),
        )
        .min(1)
        .optional()
        .meta({ description: "The first entry that matches counts." }),
      header: text.optional().meta({ description: "A request header, believed only from a trusted proxy." }),
      responseHeader: text.optional().meta({
        description: "A header or trailer of the answer that says what the request has cost after all.",
      }),
      responseJson: fieldWeights.optional().meta({
        description:
          'A field of the JSON answer or stream that says what the request has cost: "usage.total_tokens", or weights by field.',
      }),
      estimate: z
        .union([z.int().min(1), bodyEstimate])
        .optional()
        .meta({
          description:
            "What is charged until the answer says: a number, or taken from the request's body. Default: 1.",
        }),
      models: z.record(text, weight).optional().meta({
        description: "Factors by the model in the request's body. The first name, or glob with *, counts.",
      }),
      max: z
        .int()
        .min(1)
        .optional()
        .meta({ description: "The largest cost of a request. Default: 1,000,000." }),
      overdraft: z.enum(["charge", "forgive"]).optional().meta({
        description:
          "If the answer costs more than the estimate: charge the rest even beyond the limit, or forgive what does not fit. Default: forgive.",
      }),
    }),
  ])
  .meta({ description: "Units one request takes. Default: 1." })

const responseSchema = z
  .strictObject({
    status: z.int().min(400).max(599).optional().meta({ description: "Default: 429." }),
    body: z
      .union([z.string(), z.record(z.string(), z.json())])
      .optional()
      .meta({
        description:
          "Text, or an object for JSON. May contain {limit}, {remaining}, {retryAfter} and {rule}. Default: problem+json.",
      }),
    contentType: text.optional(),
  })
  .meta({ description: "What a denied request is answered." })

const answerStatus = z.union([z.int().min(100).max(599), z.enum(["2xx", "3xx", "4xx", "5xx"])])
const refundOn = z
  .union([answerStatus, z.array(answerStatus).min(1)])
  .meta({ description: "Statuses of answers whose requests do not count: 404, 5xx, or a list." })

const mode = z
  .enum(["enforce", "shadow", "off"])
  .meta({ description: "shadow decides and counts by itself, and never blocks." })
const onStoreFailure = z.enum(["local", "allow", "deny"])
const onMissingKey = z
  .enum(["skip", "ip", "deny"])
  .meta({ description: "What to do with a request that lacks a part of the key. Default: ip." })
const headers = z.enum(HEADER_STYLES)
export const leasesSchema = z
  .union([
    z.boolean(),
    z.strictObject({
      length: duration.optional().meta({
        description: "How long units may be held. Default: a hundredth of the window, at most 100ms.",
      }),
    }),
  ])
  .meta({ description: "Takes units of busy keys from a shared store in advance. Default: false." })

const unlimited = z.literal("unlimited")

const ruleSchema = z
  .strictObject({
    id: z.string().meta({
      pattern: "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
      description: "Letters, digits, dot, dash and underscore; part of the storage key.",
    }),
    description: z.string().max(1_000).optional(),
    mode: mode.optional(),
    match: matchSchema.optional(),
    keyBy: z
      .union([keyPart, z.array(keyPart).min(1)])
      .optional()
      .meta({ description: "Default: ip." }),
    onMissingKey: onMissingKey.optional(),
    limits: z.union([unlimited, limits]),
    tiers: z
      .record(name, z.union([unlimited, z.strictObject({ limits: z.union([unlimited, limits]) })]))
      .optional()
      .meta({ description: "Limits that take the place of the rule's, per tier." }),
    candidate: z
      .strictObject({ limits })
      .optional()
      .meta({ description: "Limits tried in shadow beside the enforced ones." }),
    cost: costSchema.optional(),
    refundOn: refundOn.optional(),
    holdUpgrades: z.boolean().optional().meta({
      description:
        "concurrency: whether an upgraded connection (a WebSocket) holds its place until it closes. Default: false, until the upgrade is answered.",
    }),
    replaces: z
      .array(text)
      .min(1)
      .optional()
      .meta({ description: "Ids of rules whose place this one takes." }),
    allow: z.array(client).optional().meta({ description: "Clients this rule does not apply to." }),
    deny: z.array(client).optional().meta({ description: "Clients this rule always denies." }),
    onStoreFailure: onStoreFailure.optional(),
    headers: headers.optional(),
    leases: leasesSchema.optional(),
    response: responseSchema.optional(),
  })
  .meta({ id: "Rule", description: "Who is limited, by what." })

const overrideSchema = z
  .strictObject({
    client,
    rule: oneOrMore.optional().meta({ description: "Ids of rules. Default: every rule." }),
    limits: z.union([unlimited, limits]),
    until: z
      .string()
      .optional()
      .meta({ description: "The end, as 2026-12-31 (the start of that day, UTC) or 2026-12-31T18:00:00Z." }),
    description: z.string().max(1_000).optional(),
  })
  .meta({ id: "Override", description: "Other limits for a single client." })

const identitySchema = z
  .strictObject({
    trustedProxies: z
      .array(text)
      .max(2_000)
      .optional()
      .meta({ description: "CIDRs, loopback or private. At most 2,000. Default: none." }),
    forwardedBy: z
      .enum(["x-forwarded-for", "forwarded"])
      .optional()
      .meta({ description: "Which header trusted proxies write. Default: x-forwarded-for." }),
    ipv6Subnet: z.int().min(32).max(128).optional().meta({ description: "Default: 64." }),
    user: z
      .strictObject({ header: text })
      .optional()
      .meta({ description: "The header with the user, believed only from a trusted proxy." }),
    apiKey: z.strictObject({ header: text.optional(), query: text.optional() }).optional().meta({
      description: "Where the API key is. Default: the header x-api-key. A scheme like Bearer is cut off.",
    }),
    tier: z
      .strictObject({ header: text })
      .optional()
      .meta({ description: "The header with the tier, believed only from a trusted proxy." }),
    encodedSlashes: z
      .enum(["refuse", "keep"])
      .optional()
      .meta({ description: "What to do with %2F in a path. Default: refuse." }),
  })
  .meta({ description: "How clients are told apart." })

export const ruleSetSchema = z
  .strictObject({
    $schema: z.string().optional(),
    version: z.literal(1),
    identity: identitySchema.optional(),
    defaults: z
      .strictObject({
        limit: limitNumber.optional(),
        window: windowSchema.optional(),
        algorithm: z.enum(ALGORITHMS).optional(),
        keyBy: z.union([keyPart, z.array(keyPart).min(1)]).optional(),
        onMissingKey: onMissingKey.optional(),
        onStoreFailure: onStoreFailure.optional(),
        headers: headers.optional(),
        leases: leasesSchema.optional(),
        response: responseSchema.optional(),
        tier: name.optional().meta({ description: "The tier of a client that has none." }),
      })
      .optional()
      .meta({ description: "What rules and limits say when they do not say it themselves." }),
    tiers: z
      .record(name, z.array(client))
      .optional()
      .meta({ description: "Which clients are in which tier." }),
    allow: z.array(client).optional().meta({ description: "Clients that are never limited nor counted." }),
    deny: z.array(client).optional().meta({ description: "Clients that are always denied." }),
    overrides: z.array(overrideSchema).optional(),
    rules: z.array(ruleSchema),
  })
  .meta({ title: "Sluice rules", description: "A set of rate limiting rules." })

export type LimitSpec = z.infer<typeof limitSchema>
export type CostSpec = z.infer<typeof costSchema>
export type RuleSpec = z.infer<typeof ruleSchema>
export type OverrideSpec = z.infer<typeof overrideSchema>
export type ResponseSpec = z.infer<typeof responseSchema>
/** A whole rule set, as it is written in YAML or JSON. */
export type RuleSetDocument = z.infer<typeof ruleSetSchema>

/** The JSON Schema of a rule set, for editors. */
export function ruleSetJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(ruleSetSchema, { target: "draft-7" }) as Record<string, unknown>
}
