// The settings of the counters and of the rules. Those that the library takes have the names of its options, and no defaults
// here: the library has them. library-options.ts lists which option is which setting.

import { z } from "zod"
import { duration, span, text, wait } from "./values.js"

const breaker = z
  .strictObject({
    failures: z
      .int()
      .min(1)
      .optional()
      .describe(
        "How many failures in a row open the breaker. Refused connections open it after at most 2. Default: 3.",
      ),
    failureRate: z
      .number()
      .gt(0)
      .max(1)
      .optional()
      .describe("The share of failures among the last 20 calls that opens the breaker. Default: 0.5."),
    probeEvery: wait
      .optional()
      .describe("The longest pause between two probes of a Redis that does not answer. Default: 100 ms."),
  })
  .describe("When the service stops calling a Redis that does not answer.")

const count = z.int().min(1).optional()

const guardRails = z
  .strictObject({
    maxRules: count.describe("The most rules. Default: 10,000."),
    maxLimits: count.describe("The most limits in one list of limits. Default: 10."),
    minWindow: span.optional().describe("The shortest window. Default: 1 ms."),
    maxWindow: span.optional().describe("The longest window. Default: 366 d."),
    minLimit: count.describe("The smallest limit. Default: 1."),
    maxLimit: count.describe("The largest limit or burst. Default: 1,000,000,000."),
    maxClients: count.describe(
      "The most clients in all lists, tiers and overrides together. Default: 100,000.",
    ),
    maxBytes: count.describe("The largest rule set as text, in bytes. Default: 8 MB."),
  })
  .describe("Bounds on what a rule set may contain. The service refuses a rule set outside of them.")

export const store = z
  .strictObject({
    url: text
      .default("memory")
      .describe(
        "memory, redis://, rediss://, redis+sentinel://h1,h2,h3/name, redis+cluster://h1,h2 or redis+ring://h1,h2.",
      ),
    maxKeys: z.int().min(1).optional().describe("The most keys in the memory store. Default: 1,000,000."),
    onFull: z.enum(["deny", "allow"]).optional().describe("How a full memory store decides about a new key."),
    snapshot: text
      .optional()
      .describe("A file in which the memory store saves its counters for the next start."),
    deadline: wait
      .optional()
      .describe("How long a check waits for Redis before the service decides without it. Default: 50 ms."),
    time: z
      .enum(["store", "client"])
      .optional()
      .describe("The clock that decides: that of Redis, or that of this machine. Default: store."),
    expiryBuffer: duration
      .optional()
      .describe("How much longer than needed Redis keeps a key. Default: 1 s."),
    minExpiry: duration.optional().describe("The shortest time that Redis keeps a key. Default: 1 s."),
    denyCache: duration
      .optional()
      .describe("Answers a denied key without Redis until its retry time, at most this long. Default: off."),
    heartbeat: duration
      .optional()
      .describe("How often this instance tells Redis that it is alive. 0 for never. Default: 1 s."),
    breaker: breaker.prefault({}),
    connectTimeout: wait
      .optional()
      .describe("How long a connection to Redis may take to open. Default: 1 s."),
    socketTimeout: wait
      .optional()
      .describe(
        "While commands wait and nothing arrives for this long, the service connects again. Default: 500 ms.",
      ),
    maxReconnectDelay: wait
      .optional()
      .describe("The longest pause before the service connects to Redis again. Default: 500 ms."),
  })
  .describe("Where the counters are stored.")

export const rules = z
  .strictObject({
    file: text
      .optional()
      .describe("A rule set in YAML or JSON. The service reloads the file when it changes."),
    inline: z
      .record(z.string(), z.unknown())
      .optional()
      .describe("A rule set inside the configuration. Changes to it are lost when the process ends."),
    redis: z
      .strictObject({
        enabled: z.boolean().default(false),
        url: text.optional().describe("The address of Redis. Default: store.url."),
        name: text.default("default").describe("The name of the rule set, if one Redis holds several."),
        lastGood: text
          .optional()
          .describe("A file with a copy of the rules, for a start while Redis is unavailable."),
        deadline: wait
          .optional()
          .describe("How long Redis may take to answer a request for the rules. Default: 1 s."),
      })
      .prefault({})
      .describe(
        "Stores the rules in Redis, shared by several services. If Redis has none yet, rules.file or rules.inline is copied to it.",
      ),
    poll: wait
      .optional()
      .describe(
        "How often to look for changes that nothing announced. Default: 1 s for a file, 2 s for Redis.",
      ),
    history: z.int().min(1).optional().describe("The number of revisions to keep. Default: 100."),
    historyFile: text
      .optional()
      .describe("The file that keeps the revisions of rules.file. Default: .NAME.revisions.jsonl beside it."),
    guardRails: guardRails.prefault({}),
  })
  .describe("The rules. Default: an example rule set.")
