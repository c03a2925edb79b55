import { type Invocation, spec } from "../command.js"
import { jsonOption, serviceOptions } from "./options.js"

const keyArguments = [
  { name: "rule", description: "The id of a rule." },
  {
    name: "key",
    description: "The key as decisions show it: user:42, ip:203.0.113.7. For an API key, its hash.",
  },
] as const

const tier = { flag: "--tier <name>", description: "Use the limits of this tier." } as const

export const top = spec({
  name: "keys top",
  summary: "List the keys that were recently denied or used most",
  description: "A count is never too low. The column ± shows by how much it may be too high.",
  options: {
    by: {
      flag: "--by <what>",
      choices: ["denied", "used"],
      default: "denied",
      description: "What to sort by.",
    },
    limit: {
      flag: "-n, --limit <count>",
      kind: "integer",
      min: 1,
      max: 1_000,
      default: "20",
      description: "The maximum number of keys.",
    },
    ...serviceOptions,
    json: jsonOption,
  },
  examples: [
    { run: "sluice keys top", does: "the keys that were denied most" },
    { run: "sluice keys top --by used -n 5", does: "the five busiest keys" },
  ],
})

export const blocked = spec({
  name: "keys blocked",
  summary: "List the keys that are blocked, by a penalty or by hand",
  description:
    "Those that last longest come first. A blocked key may be missing: see docs/control-plane.md, Who is blocked.",
  options: {
    limit: {
      flag: "-n, --limit <count>",
      kind: "integer",
      min: 1,
      max: 1_000,
      default: "100",
      description: "The maximum number of keys.",
    },
    ...serviceOptions,
    json: jsonOption,
  },
  examples: [{ run: "sluice keys blocked", does: "who is blocked, since when, why and for how long" }],
})

export const get = spec({
  name: "keys get",
  summary: "Show what a key has used of a rule's limits",
  arguments: keyArguments,
  options: { tier, ...serviceOptions, json: jsonOption },
  examples: [{ run: "sluice keys get login ip:203.0.113.7", does: "charges nothing" }],
  problem: "the next request of the key would be denied",
})

export const reset = spec({
  name: "keys reset",
  summary: "Set the usage of a key back to zero",
  description: "A block stays in force. A tier with its own limits has its own counters.",
  arguments: keyArguments,
  options: { tier, ...serviceOptions, json: jsonOption },
  examples: [
    { run: "sluice keys reset login ip:203.0.113.7", does: "the key starts again with full limits" },
  ],
})

export const block = spec({
  name: "keys block",
  summary: "Deny a key for some time",
  description: "Blocking a blocked key replaces the time that is left.",
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

export const unblock = spec({
  name: "keys unblock",
  summary: "End a block",
  arguments: keyArguments,
  options: { tier, ...serviceOptions, json: jsonOption },
  examples: [
    { run: "sluice keys unblock login ip:203.0.113.7", does: "the usage from before the block still counts" },
  ],
})

export type BlockedKeys = Invocation<typeof blocked>
export type TopKeys = Invocation<typeof top>
export type GetKey = Invocation<typeof get>
export type ResetKey = Invocation<typeof reset>
export type BlockKey = Invocation<typeof block>
export type UnblockKey = Invocation<typeof unblock>
