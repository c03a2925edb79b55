// The schemas of the control plane's bodies and answers, for validation and for the API description. The rule language has its
// schema in the library; these refer to it.

import { z } from "zod"
import type { JsonSchema } from "./json.js"
import { ROLES } from "./roles.js"

export function ref(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

export const RULE = ref("Rule")
export const RULE_SET = ref("RuleSet")
export const OVERRIDE = ref("Override")
export const CLIENTS: JsonSchema = { type: "array", items: ref("Client") }

const comment = z.string().min(1).max(500)

/** Every change may state a reason. */
export const changeQuery = z.strictObject({
  comment: comment.optional().meta({ description: "Why, for the history and the audit log." }),
})
export type ChangeQuery = z.output<typeof changeQuery>

const clientName = z.string().min(1).max(512)

export const clientBody = z.strictObject({
  client: clientName.meta({
    description: '"ip:203.0.113.7", "ip:10.0.0.0/8", "user:42" or "apiKey:<keyed hash>".',
  }),
})

export const apiKeyBody = z.strictObject({ apiKey: z.string().min(1).max(4_096) })

export const removeClientQuery = changeQuery.extend({
  client: clientName.meta({ description: "Who is taken off." }),
})

export const tierQuery = z.strictObject({
  tier: z.string().min(1).max(64).optional().meta({ description: "The tier whose limits are looked at." }),
})

export const rollbackBody = z.strictObject({
  revision: z.int().min(1).meta({ description: "Whose content is put in force again." }),
  comment: comment.optional(),
})

export const blockBody = z.strictObject({
  duration: z
    .union([z.string().min(1).max(32), z.number().positive()])
    .meta({ description: 'How long: "10m", "1h", or milliseconds.' }),
})

const count = (most: number, usual: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/, `must be a whole number from 1 to ${most}`)
    .transform(Number)
    .pipe(z.int().min(1).max(most))
    .default(usual)
    .meta({ description: `From 1 to ${most}. Default: ${usual}.` })

export const topQuery = z.strictObject({
  by: z.enum(["denied", "used"]).default("denied"),
  limit: count(1_000, 20),
})

export const auditQuery = z.strictObject({ limit: count(1_000, 100) })

const limit = z.object({
  name: z.string(),
  limit: z.number().nullable(),
  remaining: z.number().nullable(),
  resetAfterMs: z.number().meta({ description: "When it is as if the key had never been used." }),
  resetAt: z.number(),
  windowMs: z.number(),
})

export const keyState = z
  .object({
    rule: z.string(),
    key: z.string(),
    mode: z.enum(["enforce", "shadow", "off"]),
    allowed: z.boolean().meta({ description: "Whether a request of cost 1 would be let through now." }),
    blockedForMs: z.number().optional().meta({ description: "How much longer a block lasts." }),
    tier: z.string().optional(),
    degraded: z
      .enum(["allow", "deny", "local"])
      .optional()
      .meta({ description: "The store did not answer; these are the counters of this instance." }),
    limits: z
      .array(limit)
      .meta({ description: "Each limit of the rule. Empty when nothing limits the key." }),
    revision: z.int(),
  })
  .meta({ description: "What a key has used of the limits of a rule." })
export type KeyState = z.output<typeof keyState>

const problem = z.object({
  code: z.string(),
  path: z.string().meta({ description: "rules[2].limits[0].window" }),
  rule: z.string().optional(),
  message: z.string(),
  line: z.int().optional(),
  column: z.int().optional(),
})

const changes = z.object({
  added: z.array(z.string()),
  removed: z.array(z.string()),
  changed: z.array(z.string()),
  sections: z.array(z.string()),
})

export const validateQuery = z.strictObject({
  rule: z.string().max(64).optional().meta({
    description:
      "The body is a single rule, in the place of the one with this id. Empty, or the id of no rule: a new one.",
  }),
})

export const verdict = z.object({
  valid: z.boolean(),
  problems: z.array(problem).meta({ description: "Every mistake, with its place." }),
  changes: changes.optional().meta({ description: "What would change, when it is valid." }),
  rule: z
    .record(z.string(), z.unknown())
    .optional()
    .meta({ description: "The rule as it was read, when only one was sent and it is valid." }),
})

export const revisionList = z.array(
  z.object({
    revision: z.int(),
    etag: z.string(),
    changedAt: z.number().meta({ description: "Milliseconds since 1970." }),
    changedBy: z.string(),
    comment: z.string().optional(),
    changes,
  }),
)

export const topList = z.array(
  z.object({
    rule: z.string(),
    key: z.string(),
    count: z.number().meta({ description: "About how often of late; never too low." }),
    error: z.number().meta({ description: "By how much it may be too high." }),
  }),
)

const column = z.array(z.number()).meta({ description: "A number for each second, oldest first." })

export const historyReport = z.object({
  from: z.number().meta({ description: "The first second, in milliseconds since 1970." }),
  seconds: z.int().meta({ description: "How many there are in each column." }),
  requests: z.object({ allowed: column, denied: column }),
  durations: z.object({ p50Ms: column, p99Ms: column }),
  rules: z
    .array(
      z.object({
        id: z.string(),
        allowed: column,
        denied: column,
        shadowDenied: column,
        degraded: column,
      }),
    )
    .meta({ description: "At most 50; the others are added up as _other. _none had no rule." }),
})

export const sessionReport = z.object({
  name: z.string().meta({ description: "Who the token belongs to." }),
  role: z.enum(ROLES),
  byToken: z
    .boolean()
    .meta({ description: "False where there are no tokens, and this machine is believed." }),
})

export const statusReport = z.object({
  status: z.enum(["ready", "degraded", "draining"]),
  version: z.string(),
  node: z.string(),
  startedAt: z.number().meta({ description: "Milliseconds since 1970." }),
  now: z.number().meta({ description: "The service's clock." }),
  workers: z.int().meta({ description: "Processes that answer requests." }),
  rules: z.object({
    revision: z.int(),
    count: z.int(),
    changedAt: z.number(),
    changedBy: z.string(),
    stale: z
      .boolean()
      .meta({ description: "Where they are kept cannot be reached: there may be newer ones." }),
  }),
  store: z.object({
    kind: z.enum(["memory", "redis"]),
    keys: z.int().optional(),
    bytes: z.int().optional(),
    evicted: z.int().optional().meta({ description: "Keys that made room for others." }),
    refused: z.int().optional().meta({ description: "New keys that found no room." }),
    instances: z.int().optional().meta({ description: "Services that share the store." }),
    breakers: z
      .object({ closed: z.int(), open: z.int(), "half-open": z.int() })
      .optional()
      .meta({ description: "How many are in which state. None on a store that cannot fail." }),
  }),
  sampleTraffic: z
    .object({ endsAt: z.number().optional() })
    .optional()
    .meta({ description: "There where made-up requests can be sent; `endsAt` while they are." }),
})
export type StatusReport = z.output<typeof statusReport>

export const auditList = z.array(
  z.object({
    at: z.string(),
    by: z.string(),
    role: z.string(),
    from: z.string(),
    action: z.string(),
    target: z.string().optional(),
    revision: z.int().optional(),
    changes: changes.optional(),
    comment: z.string().optional(),
    outcome: z.literal("unknown").optional(),
  }),
)

/** RFC 9457. */
export const problemBody = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string().meta({ description: "One of those in docs/errors.md." }),
  problems: z.array(problem).optional().meta({ description: "Every mistake in a rule set." }),
})

const seriesStep = z.object({
  at: z.number().meta({ description: "When it begins, in milliseconds since 1970." }),
  requests: z.int(),
  denied: z.int(),
  shadowDenied: z.int(),
})

const distinct = z.object({ count: z.number(), exact: z.boolean() })

/** The report of a replay, as `sluice replay --json` prints it. */
export const replayReport = z.object({
  format: z.string(),
  lines: z.int(),
  requests: z.int(),
  unreadable: z.object({
    count: z.int(),
    first: z.array(z.object({ line: z.int(), reason: z.string(), text: z.string() })),
  }),
  from: z.number().optional(),
  to: z.number().optional(),
  clients: distinct,
  stepMs: z.number().meta({ description: "The length of one step of every series." }),
  candidates: z.array(
    z.object({
      name: z.string(),
      allowed: z.int(),
      denied: z.int(),
      rules: z.array(
        z.object({ id: z.string(), requests: z.int(), denied: z.int(), shadowDenied: z.int() }).loose(),
      ),
      hurt: z.object({
        clients: distinct,
        most: z.array(z.looseObject({ client: z.string(), denied: z.int() })),
      }),
      series: z.array(seriesStep),
      worstMinutes: z.array(seriesStep),
    }),
  ),
})
