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
  comment: comment.optional().describe("The reason of the change, for the history and the audit log."),
})
export type ChangeQuery = z.output<typeof changeQuery>

const clientName = z.string().min(1).max(512)

export const clientBody = z.strictObject({
  client: clientName.describe('"ip:203.0.113.7", "ip:10.0.0.0/8", "user:42" or "apiKey:<keyed hash>".'),
})

export const apiKeyBody = z.strictObject({ apiKey: z.string().min(1).max(4_096) })

export const removeClientQuery = changeQuery.extend({
  client: clientName.describe("The client to remove from the list."),
})

export const tierQuery = z.strictObject({
  tier: z.string().min(1).max(64).optional().describe("The tier whose limits apply."),
})

export const rollbackBody = z.strictObject({
  revision: z.int().min(1).describe("The revision to restore."),
  comment: comment.optional(),
})

export const blockBody = z.strictObject({
  duration: z
    .union([z.string().min(1).max(32), z.number().positive()])
    .describe('How long: "10m", "1h", or milliseconds.'),
})

const count = (most: number, usual: number) =>
  z
    .string()
    .regex(/^\d{1,6}$/, `must be a whole number from 1 to ${most}`)
    .transform(Number)
    .pipe(z.int().min(1).max(most))
    .default(usual)
    .describe(`From 1 to ${most}. Default: ${usual}.`)

export const topQuery = z.strictObject({
  by: z.enum(["denied", "used"]).default("denied"),
  limit: count(1_000, 20),
})

export const blocksQuery = z.strictObject({ limit: count(1_000, 100) })

const times = {
  blockedSince: z.number(),
  blockedUntil: z.number(),
}

export const blockedList = z
  .object({
    blocks: z.array(
      z.object({
        rule: z.string(),
        key: z.string(),
        ...times,
        blockedForMs: z.number().describe("How long the block still lasts."),
        limit: z
          .string()
          .optional()
          .describe("The limit whose penalty blocks the key. Left out if somebody has blocked it by hand."),
        denials: z.int().optional().describe("How many denials begin a block of that limit."),
        earlier: z.int().optional().describe("How many blocks of the key were before this one and count."),
      }),
    ),
    complete: z.boolean().describe("False if there may be more."),
  })
  .describe("The keys that are blocked now.")
export type BlockedList = z.output<typeof blockedList>

export const auditQuery = z.strictObject({ limit: count(1_000, 100) })

const limit = z.object({
  name: z.string(),
  limit: z.number().nullable(),
  remaining: z.number().nullable(),
  retryAfterMs: z.number().describe("How long until a request of cost 1 is allowed. 0 if it is allowed now."),
  resetAfterMs: z.number().describe("How long until the key has its full limit again."),
  resetAt: z.number(),
  windowMs: z.number(),
  used: z.number().describe("Units that count now. They may exceed the limit."),
  oldestAt: z.number().optional().describe("Sliding log: when the oldest unit that counts was charged."),
  newestAt: z.number().optional().describe("Sliding log: when the newest unit that counts was charged."),
  buckets: z
    .array(z.object({ startsAt: z.number(), lengthMs: z.number(), units: z.number() }))
    .optional()
    .describe("Fixed window and sliding counter: the buckets with units, newest first."),
  penalty: z
    .object({
      blockedSince: z.number().optional(),
      blockedUntil: z.number().optional(),
      denials: z.int().describe("Denials that count towards the next block."),
      blocks: z.int().describe("Blocks that make the next one longer."),
    })
    .optional()
    .describe("A limit with a penalty: the block in force, if there is one, and what was counted."),
})

export const keyState = z
  .object({
    rule: z.string(),
    key: z.string(),
    mode: z.enum(["enforce", "shadow", "off"]),
    allowed: z.boolean().describe("Whether a request of cost 1 would be allowed now."),
    blockedForMs: z
      .number()
      .optional()
      .describe("How long the key stays blocked: by hand or by a penalty, whichever lasts longer."),
    block: z.object(times).optional().describe("The block by hand, if there is one."),
    tier: z.string().optional(),
    degraded: z
      .enum(["allow", "deny", "local"])
      .optional()
      .describe("The store did not answer, and these are the counters of this instance."),
    limits: z.array(limit).describe("The limits of the rule. Empty if nothing limits the key."),
    revision: z.int(),
  })
  .describe("The usage of a key under a rule.")
export type KeyState = z.output<typeof keyState>

const problem = z.object({
  code: z.string(),
  path: z.string().describe("The place in the rule set, such as rules[2].limits[0].window."),
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
  rule: z
    .string()
    .max(64)
    .optional()
    .describe(
      "The body is a single rule that replaces the rule with this id. An empty or unknown id means a new rule.",
    ),
})

export const verdict = z.object({
  valid: z.boolean(),
  problems: z.array(problem).describe("All mistakes with their places."),
  changes: changes.optional().describe("What would change, if the rules are valid."),
  rule: z
    .record(z.string(), z.unknown())
    .optional()
    .describe("The parsed rule, if the body is a single valid rule."),
})

export const revisionList = z.array(
  z.object({
    revision: z.int(),
    etag: z.string(),
    changedAt: z.number().describe("Milliseconds since 1970."),
    changedBy: z.string(),
    comment: z.string().optional(),
    changes,
  }),
)

export const topList = z.array(
  z.object({
    rule: z.string(),
    key: z.string(),
    count: z.number().describe("The estimated recent count. It is never too low."),
    error: z.number().describe("How much too high the count may be."),
  }),
)

const column = z.array(z.number()).describe("One number per second, oldest first.")

export const historyReport = z.object({
  from: z.number().describe("The first second, in milliseconds since 1970."),
  seconds: z.int().describe("The number of seconds, and of values in each column."),
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
    .describe("At most 50 rules. _other is the sum of all others, _none counts requests without a rule."),
})

export const sessionReport = z.object({
  name: z.string().describe("The owner of the token."),
  role: z.enum(ROLES),
  byToken: z
    .boolean()
    .describe("False if no tokens are configured, so that clients on this machine need none."),
})

export const statusReport = z.object({
  status: z.enum(["ready", "degraded", "draining"]),
  version: z.string(),
  node: z.string(),
  startedAt: z.number().describe("Milliseconds since 1970."),
  now: z.number().describe("The time of the service's clock."),
  workers: z.int().describe("The number of processes that answer requests."),
  rules: z.object({
    revision: z.int(),
    count: z.int(),
    changedAt: z.number(),
    changedBy: z.string(),
    stale: z.boolean().describe("Whether there may be newer rules, because their storage is unreachable."),
  }),
  store: z.object({
    kind: z.enum(["memory", "redis"]),
    keys: z.int().optional(),
    bytes: z.int().optional(),
    evicted: z.int().optional().describe("Keys that the store removed to make room for new ones."),
    refused: z.int().optional().describe("Decisions about a new key while the store was full."),
    instances: z.int().optional().describe("Instances of the service that share the store."),
    breakers: z
      .object({ closed: z.int(), open: z.int(), "half-open": z.int() })
      .optional()
      .describe("The number of circuit breakers in each state. Missing for a store that cannot fail."),
  }),
  leases: z
    .object({
      keys: z.int().describe("Keys with a lease."),
      held: z.int().describe("Units of leases that are not spent yet."),
      spent: z.int(),
      returned: z.int().describe("Units that went back to the store unspent."),
      wasted: z.int().describe("Units that were neither spent nor returned."),
      answered: z.int().describe("Checks that were answered without a call to the store."),
      calls: z.int().describe("Calls to the store that took or returned a lease."),
    })
    .optional()
    .describe("What leases have done since the start. Missing for a store in memory."),
  sampleTraffic: z
    .object({ endsAt: z.number().optional() })
    .optional()
    .describe("Present if the service can send sample traffic. `endsAt` is set while it does."),
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
  code: z.string().describe("A code from docs/errors.md."),
  problems: z.array(problem).optional().describe("All mistakes in the rule set."),
})

const seriesStep = z.object({
  at: z.number().describe("The start of the step, in milliseconds since 1970."),
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
  stepMs: z.number().describe("The length of one step of every series."),
  candidates: z.array(
    z.object({
      name: z.string(),
      allowed: z.int(),
      denied: z.int(),
      costs: z
        .object({ settled: z.int(), estimated: z.int() })
        .describe(
          "Requests whose cost comes from the response: settled by the log, or left at the estimate.",
        ),
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
