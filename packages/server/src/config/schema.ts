// The schema of the configuration. Its types, defaults, validation and the JSON Schema for editors all come from here.

import { z } from "zod"
import { gatewaySchema } from "./gateway-schema.js"
import { rules, store } from "./store-schema.js"
import { address, duration, text } from "./values.js"

const secretOf = {
  token: z.string().min(16).optional().describe("The token, at least 16 characters."),
  hash: text.optional().describe("The hash of the token, as an alternative to the token itself."),
}
const hasOneSecret = ({ token, hash }: { token?: unknown; hash?: unknown }) =>
  (token === undefined) !== (hash === undefined)
const oneSecret = { message: "given with either token or hash" }

const token = z
  .strictObject({
    name: text.describe("The owner, as the audit log shows it."),
    role: z.enum(["reader", "editor", "admin"]),
    ...secretOf,
  })
  .refine(hasOneSecret, oneSecret)
  .meta({ id: "Token" })

const programToken = z
  .strictObject({ name: text.describe("The program that uses the token."), ...secretOf })
  .refine(hasOneSecret, oneSecret)
  .meta({ id: "ProgramToken" })

const limits = z
  .strictObject({
    bodyBytes: z
      .int()
      .min(1_024)
      .max(64 * 1_048_576)
      .default(262_144)
      .describe("The largest request body in bytes."),
    batch: z.int().min(1).max(10_000).default(1_000).describe("The most checks in one batch."),
    replayBytes: z
      .int()
      .min(1_024)
      .default(268_435_456)
      .describe("The largest log that a client may send for replay, in bytes as sent."),
    headerBytes: z
      .int()
      .min(4_096)
      .max(1_048_576)
      .default(16_384)
      .describe("The largest size of all headers of a request, in bytes."),
    headers: z
      .int()
      .min(16)
      .max(10_000)
      .default(128)
      .describe("The most headers in a request to the gateway. A request with more gets status 431."),
    connections: z.int().min(1).default(10_000).describe("The most open connections on each port."),
    requestTimeout: duration.prefault("10s").describe("How long a request may take to arrive."),
    answerTimeout: duration
      .prefault("30s")
      .describe("How long a client of http or control may leave a response unread."),
    keepAlive: duration.prefault("65s").describe("How long an idle connection stays open."),
  })
  .describe("Limits on what a client may send, and how long it may take.")

const log = z
  .strictObject({
    level: z
      .enum(["debug", "info", "warn", "error", "silent"])
      .default("info")
      .describe("The least severe level that is logged."),
    denials: z.int().min(0).default(10).describe("The most denials logged per second. 0 logs none."),
  })
  .describe("The log: JSON lines on standard error.")

/** Headers with credentials. The decision log never records them. */
const credentials = ["authorization", "proxy-authorization", "cookie", "x-api-key"]

const record = z
  .strictObject({
    file: text.optional().describe("The file to write to, one line per decision. Default: no decision log."),
    maxBytes: z.int().min(4_096).default(67_108_864).describe("The size at which a new file begins."),
    files: z
      .int()
      .min(1)
      .max(1_000)
      .default(8)
      .describe("The number of files to keep. The oldest is deleted first."),
    headers: z
      .array(
        text.refine((name) => !credentials.includes(name.toLowerCase()), {
          message: "a header that holds no credentials",
        }),
      )
      .default([])
      .describe("Request headers to record, for rules that match on them."),
  })
  .describe("The decision log, which sluice replay can read.")

const drain = z
  .strictObject({
    delay: duration
      .prefault("0s")
      .describe(
        "How long the service continues after SIGTERM, so that load balancers notice that it is not ready.",
      ),
    deadline: duration.prefault("10s").describe("How long requests in progress may take after that."),
  })
  .describe("How the service stops on SIGTERM.")

export const configSchema = z
  .strictObject({
    $schema: z.string().optional(),
    http: z
      .strictObject({
        enabled: z.boolean().default(true),
        ...address(8080),
        tokens: z
          .array(programToken)
          .default([])
          .describe(
            "Tokens for refund and reset. Without tokens, only programs on this machine may use them.",
          ),
        requireToken: z.boolean().default(false).describe("Whether checks need a token too."),
        refundAndReset: z.boolean().default(true).describe("Whether /v1/refund and /v1/reset exist."),
        allowedHosts: z
          .array(text)
          .default([])
          .describe(
            "Host names under which web pages may call the service. Other programs may use any name.",
          ),
      })
      .refine(({ tokens, requireToken }) => !requireToken || tokens.length > 0, {
        path: ["requireToken"],
        message: "false, because http.tokens is empty",
      })
      .prefault({})
      .describe("The check API."),
    grpc: z
      .strictObject({ enabled: z.boolean().default(true), ...address(8081) })
      .prefault({})
      .describe("Envoy's rate limit service."),
    resp: z
      .strictObject({
        enabled: z.boolean().default(false),
        ...address(6380),
        password: text.optional().describe("The password that clients must send. Default: none."),
      })
      .prefault({})
      .describe("CL.THROTTLE and SLUICE.CHECK for Redis clients."),
    control: z
      .strictObject({
        enabled: z.boolean().default(true),
        ...address(9090),
        tokens: z
          .array(token)
          .default([])
          .describe(
            "Required to listen on an address that other machines reach. Default: one generated token, stored on disk.",
          ),
        open: z
          .boolean()
          .default(false)
          .describe("Requires no token from clients on this machine. Unsafe behind a proxy."),
        audit: text.optional().describe("The file of the audit log, one line per change. Default: none."),
        dashboard: text
          .optional()
          .describe(
            "The folder with the files of the dashboard. Default: the dashboard that belongs to this version.",
          ),
      })
      .prefault({})
      .describe("The control plane: rules, metrics, live events and the dashboard."),
    gateway: gatewaySchema.prefault({}),
    store: store.prefault({}),
    rules: rules.prefault({}),
    prefix: text
      .default("sluice")
      .describe("A prefix of all keys, so that services that share a store have separate counters."),
    secret: text
      .optional()
      .describe("The secret for the hashes of API keys. Default: generated once and stored with the rules."),
    trustedProxies: z
      .array(text)
      .default([])
      .describe("Proxies whose forwarded headers are trusted: CIDR ranges, loopback or private."),
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
          .describe("The number of keys to compare at a time. 0 disables it."),
      })
      .prefault({})
      .describe("Compares the approximate algorithm with an exact log, on a sample of live keys."),
    openTelemetry: z
      .boolean()
      .default(false)
      .describe("Exports metrics and spans through @opentelemetry/api, which must be installed."),
    workers: z.int().min(1).max(256).default(1).describe("The number of processes that answer requests."),
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
