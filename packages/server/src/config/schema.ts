// The schema of the configuration. Its types, defaults, validation and the JSON Schema for editors all come from here.

import { z } from "zod"
import { gatewaySchema } from "./gateway-schema.js"
import { address, duration, text } from "./values.js"

const secretOf = {
  token: z.string().min(16).optional().meta({ description: "The token itself." }),
  hash: text.optional().meta({ description: "Or its hash, so that the configuration holds no secret." }),
}
const hasOneSecret = ({ token, hash }: { token?: unknown; hash?: unknown }) =>
  (token === undefined) !== (hash === undefined)
const oneSecret = { message: "a token or its hash, one of them" }

const token = z
  .strictObject({
    name: text.meta({ description: "Who it belongs to, for the audit log." }),
    role: z.enum(["reader", "editor", "admin"]),
    ...secretOf,
  })
  .refine(hasOneSecret, oneSecret)
  .meta({ id: "Token" })

const programToken = z
  .strictObject({ name: text.meta({ description: "Which program it belongs to." }), ...secretOf })
  .refine(hasOneSecret, oneSecret)
  .meta({ id: "ProgramToken" })

const store = z
  .strictObject({
    url: text.default("memory").meta({
      description:
        "memory, or redis://, rediss://, redis+sentinel://h1,h2,h3/name, redis+cluster://h1,h2, redis+ring://h1,h2.",
    }),
    maxKeys: z
      .int()
      .min(1)
      .optional()
      .meta({ description: "memory: the most keys held. Default: 1,000,000." }),
    onFull: z.enum(["deny", "allow"]).optional().meta({ description: "memory: what a new key gets then." }),
    snapshot: text.optional().meta({ description: "memory: a file that keeps the counters over a restart." }),
  })
  .meta({ description: "Where counters live." })

const rules = z
  .strictObject({
    file: text.optional().meta({ description: "A rule set in YAML or JSON; changes are followed." }),
    inline: z
      .record(z.string(), z.unknown())
      .optional()
      .meta({ description: "A rule set, in place of a file. Changes last as long as the process." }),
    redis: z
      .strictObject({
        enabled: z.boolean().default(false),
        url: text.optional().meta({ description: "Default: that of the store." }),
        name: text.default("default").meta({ description: "Tells several rule sets in one Redis apart." }),
        lastGood: text.optional().meta({ description: "A copy on disk to start from when Redis is away." }),
      })
      .prefault({})
      .meta({
        description:
          "Keeps the rules in Redis, for a fleet. file or inline is what an empty one starts with.",
      }),
  })
  .meta({ description: "The rules. Without any: an example set." })

const limits = z
  .strictObject({
    bodyBytes: z
      .int()
      .min(1_024)
      .max(64 * 1_048_576)
      .default(262_144),
    batch: z.int().min(1).max(10_000).default(1_000).meta({ description: "Checks in one batch." }),
    replayBytes: z
      .int()
      .min(1_024)
      .default(268_435_456)
      .meta({ description: "A log sent to the control plane for replay, packed if it is." }),
    headerBytes: z.int().min(4_096).max(1_048_576).default(16_384),
    headers: z
      .int()
      .min(16)
      .max(10_000)
      .default(128)
      .meta({ description: "Headers of one request to the gateway; more are answered 431." }),
    connections: z.int().min(1).default(10_000).meta({ description: "Open at once, on each port." }),
    requestTimeout: duration.prefault("10s").meta({ description: "How long a request may take to arrive." }),
    answerTimeout: duration.prefault("30s").meta({
      description: "How long a client of http or control may leave an answer unread.",
    }),
    keepAlive: duration.prefault("65s").meta({ description: "How long an idle connection is kept." }),
  })
  .meta({ description: "Bounds on what clients may ask for." })

const log = z
  .strictObject({
    level: z.enum(["debug", "info", "warn", "error", "silent"]).default("info"),
    denials: z.int().min(0).default(10).meta({ description: "Denials logged each second; 0 for none." }),
  })
  .meta({ description: "JSON lines on standard error." })

/** Headers with credentials. The decision log never records them. */
const credentials = ["authorization", "proxy-authorization", "cookie", "x-api-key"]

const record = z
  .strictObject({
    file: text.optional().meta({ description: "A file that gets a line for every decision. Default: none." }),
    maxBytes: z
      .int()
      .min(4_096)
      .default(67_108_864)
      .meta({ description: "When a file is that large, the next one is begun." }),
    files: z.int().min(1).max(1_000).default(8).meta({ description: "Files kept; the oldest goes." }),
    headers: z
      .array(
        text.refine((name) => !credentials.includes(name.toLowerCase()), {
          message: "a header that holds no credentials",
        }),
      )
      .default([])
      .meta({ description: "Request headers to keep, for rules that look at them." }),
  })
  .meta({ description: "A decision log that sluice replay reads back." })

const drain = z
  .strictObject({
    delay: duration.prefault("0s").meta({
      description: "How long to go on serving after SIGTERM while balancers notice that it is not ready.",
    }),
    deadline: duration
      .prefault("10s")
      .meta({ description: "How long requests under way may take after that." }),
  })
  .meta({ description: "What SIGTERM does." })

export const configSchema = z
  .strictObject({
    $schema: z.string().optional(),
    http: z
      .strictObject({
        enabled: z.boolean().default(true),
        ...address(8080),
        tokens: z.array(programToken).default([]).meta({
          description:
            "Needed for refund and reset, which without tokens are for programs on this machine only.",
        }),
        requireToken: z
          .boolean()
          .default(false)
          .meta({ description: "Whether checks need one of the tokens too." }),
        refundAndReset: z
          .boolean()
          .default(true)
          .meta({ description: "Whether there are /v1/refund and /v1/reset." }),
        allowedHosts: z
          .array(text)
          .default([])
          .meta({ description: "Names that pages in a browser may reach it by. Programs may use any." }),
      })
      .refine(({ tokens, requireToken }) => !requireToken || tokens.length > 0, {
        path: ["requireToken"],
        message: "false as long as there are no tokens",
      })
      .prefault({})
      .meta({ description: "The check API." }),
    grpc: z
      .strictObject({ enabled: z.boolean().default(true), ...address(8081) })
      .prefault({})
      .meta({ description: "Envoy's rate limit service." }),
    resp: z
      .strictObject({
        enabled: z.boolean().default(false),
        ...address(6380),
        password: text.optional(),
      })
      .prefault({})
      .meta({ description: "CL.THROTTLE for Redis clients." }),
    control: z
      .strictObject({
        enabled: z.boolean().default(true),
        ...address(9090),
        tokens: z.array(token).default([]).meta({
          description: "Needed to listen beyond this machine. Default: one that is made and kept.",
        }),
        open: z.boolean().default(false).meta({
          description: "Asks who connects from this machine for no token. Unsafe behind a proxy.",
        }),
        audit: text.optional().meta({ description: "A file that gets a line for every change." }),
        dashboard: text
          .optional()
          .meta({ description: "A folder with the dashboard's files. Default: the one built with it." }),
      })
      .prefault({})
      .meta({ description: "Rules, metrics, live events." }),
    gateway: gatewaySchema.prefault({}),
    store: store.prefault({}),
    rules: rules.prefault({}),
    prefix: text
      .default("sluice")
      .meta({ description: "Keeps the counters of services that share a store apart." }),
    secret: text
      .optional()
      .meta({ description: "Keys the hashes of API keys. Default: made once, and kept with the rules." }),
    trustedProxies: z
      .array(text)
      .default([])
      .meta({ description: "Whose forwarded headers /v1/auth believes: CIDRs, loopback or private." }),
    limits: limits.prefault({}),
    log: log.prefault({}),
    record: record.prefault({}),
    accuracy: z
      .strictObject({
        keys: z
          .int()
          .min(0)
          .max(10_000)
          .default(100)
          .meta({ description: "Keys watched at once; 0 for none." }),
      })
      .prefault({})
      .meta({ description: "Compares approximate algorithms with the exact log, on a sample of live keys." }),
    openTelemetry: z
      .boolean()
      .default(false)
      .meta({ description: "Metrics and spans through @opentelemetry/api, which has to be installed." }),
    workers: z.int().min(1).max(256).default(1).meta({ description: "Processes that answer requests." }),
    drain: drain.prefault({}),
  })
  .meta({ title: "Sluice configuration", description: "sluice.config.yaml" })

export type Config = z.output<typeof configSchema>
export type ConfigInput = z.input<typeof configSchema>
export type TokenConfig = Config["control"]["tokens"][number]

/** Whether the configuration names no rules, so that the example rules are in force. */
export function runsExampleRules({ rules }: Pick<Config, "rules">): boolean {
  return !rules.redis.enabled && rules.file === undefined && rules.inline === undefined
}

/** Whether the example rules run on a store of this process alone: somebody is trying the service out. */
export function runsExample(config: Pick<Config, "rules" | "store">): boolean {
  return runsExampleRules(config) && config.store.url === "memory"
}

/** The JSON Schema of a configuration, for editors. */
export function configJsonSchema(): Record<string, unknown> {
  return z.toJSONSchema(configSchema, { target: "draft-7", io: "input" }) as Record<string, unknown>
}
