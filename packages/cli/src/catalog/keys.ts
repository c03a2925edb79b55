import { command, type Invocation, spec } from "../command.js"
import { jsonOption, serviceOptions } from "./options.js"

const keyArguments = [
  { name: "rule", description: "The id of a rule." },
  {
    name: "key",
    description: "The key as decisions show it: user:42, ip:203.0.113.7. Of an API key that is its hash.",
  },
] as const

const tier = { flag: "--tier <name>", description: "The tier whose limits are looked at." } as const

const top = spec({
  name: "keys top",
  summary: "List the keys that were denied or used most of late",
  description: "Counts are never too low; ± says by how much one may be too high.",
  options: {
    by: {
      flag: "--by <what>",
      choices: ["denied", "used"],
      default: "denied",
      description: "What is counted.",
    },
    limit: {
      flag: "-n, --limit <count>",
      kind: "integer",
      min: 1,
      max: 1_000,
      default: "20",
      description: "The most shown.",
    },
    ...serviceOptions,
    json: jsonOption,
  },
  examples: [
    { run: "sluice keys top", does: "who was denied most" },
    { run: "sluice keys top --by used -n 5", does: "the five busiest" },
  ],
})

const get = spec({
  name: "keys get",
  summary: "Show what a key has used of a rule's limits",
  arguments: keyArguments,
  options: { tier, ...serviceOptions, json: jsonOption },
  examples: [{ run: "sluice keys get login ip:203.0.113.7", does: "charges nothing" }],
  problem: "its next request would be denied",
})

const reset = spec({
  name: "keys reset",
  summary: "Forget what a key has used",
  description: "A block stays. A tier with limits of its own has counters of its own.",
  arguments: keyArguments,
  options: { tier, ...serviceOptions, json: jsonOption },
  examples: [{ run: "sluice keys reset login ip:203.0.113.7", does: "lets it start anew" }],
})

const block = spec({
  name: "keys block",
  summary: "Deny a key for a while",
  description: "Blocking again sets the time anew.",
  arguments: keyArguments,
  options: {
    for: {
      flag: "--for <duration>",
      kind: "duration",
      required: true,
      description: "How long: 90s, 10m, 1h, 1d.",
    },
    tier,
    ...serviceOptions,
    json: jsonOption,
  },
  examples: [{ run: "sluice keys block login ip:203.0.113.7 --for 1h", does: "for an hour" }],
})

const unblock = spec({
  name: "keys unblock",
  summary: "End a block",
  arguments: keyArguments,
  options: { tier, ...serviceOptions, json: jsonOption },
  examples: [
    { run: "sluice keys unblock login ip:203.0.113.7", does: "what it had used before still counts" },
  ],
})

export type TopKeys = Invocation<typeof top>
export type GetKey = Invocation<typeof get>
export type ResetKey = Invocation<typeof reset>
export type BlockKey = Invocation<typeof block>
export type UnblockKey = Invocation<typeof unblock>

export const keysCommands = [
  command(top, async (invocation) => (await import("../commands/keys/top.js")).topKeys(invocation)),
  command(get, async (invocation) => (await import("../commands/keys/key.js")).getKey(invocation)),
  command(reset, async (invocation) => (await import("../commands/keys/key.js")).resetKey(invocation)),
  command(block, async (invocation) => (await import("../commands/keys/key.js")).blockKey(invocation)),
  command(unblock, async (invocation) => (await import("../commands/keys/key.js")).unblockKey(invocation)),
]
