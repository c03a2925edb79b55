import { command, type Invocation, type OptionSpec, spec } from "../command.js"
import { jsonOption } from "./options.js"

/** The request that is asked about. */
const requestOptions = {
  method: { flag: "-X, --method <method>", description: "Default: GET." },
  path: { flag: "-p, --path <path>", description: "With its query, if it has one: /v1/items?page=2." },
  host: { flag: "--host <host>", description: "Which site is asked for." },
  header: { flag: "-H, --header <header>", many: true, description: "As curl takes it: 'x-plan: pro'." },
  tier: { flag: "--tier <name>", description: "The tier of whoever asks." },
  cost: {
    flag: "--cost <units>",
    kind: "integer",
    min: 0,
    description: "In place of what the rules say. 0 only looks.",
  },
} as const satisfies Record<string, OptionSpec>

const whereOptions = {
  rules: {
    flag: "--rules <file>",
    kind: "file",
    description: "Ask these rules, here and in memory, not a service.",
  },
  url: {
    flag: "--url <address>",
    description: "The data plane of a service. Default: $SLUICE_DATA_URL, else http://127.0.0.1:8080.",
  },
} as const satisfies Record<string, OptionSpec>

const who =
  "Who asks, as decisions show it: ip:203.0.113.7, user:42, apiKey:<the key itself>. Several, if more is known of them."

const check = spec({
  name: "check",
  summary: "Ask whether a request may pass, and charge it",
  description:
    "About a request, by who asks and what for; or with --rule about one rule and its key. With --rules nothing but the file is asked, so that rules can be tried before anybody runs them.",
  arguments: [{ name: "key", description: who, many: true, optional: true }],
  options: {
    ...requestOptions,
    rule: { flag: "--rule <id>", description: "Ask this rule alone; <key> is then the rule's key as it is." },
    times: {
      flag: "-n, --times <count>",
      kind: "integer",
      min: 1,
      max: 10_000,
      default: "1",
      description: "Ask so often, one after the other.",
    },
    ...whereOptions,
    json: jsonOption,
  },
  examples: [
    {
      run: "sluice check ip:203.0.113.7 --method POST --path /login",
      does: "a request, of the service on this machine",
    },
    { run: "sluice check user:42 --rule per-user --cost 10", does: "one rule and its key" },
    {
      run: "sluice check ip:203.0.113.7 -X POST -p /login --rules rules.yaml -n 6",
      does: "six sign-ins, by a file of rules",
    },
  ],
  problem: "it was denied (the last of them, with --times)",
})

const explain = spec({
  name: "explain",
  summary: "Show which rules a request meets, and why",
  description: "Charges nothing.",
  arguments: [{ name: "key", description: who, many: true, optional: true }],
  options: {
    ...requestOptions,
    all: { flag: "-a, --all", description: "Also the rules that have no say." },
    ...whereOptions,
    json: jsonOption,
  },
  examples: [
    {
      run: "sluice explain ip:203.0.113.7 --method POST --path /login",
      does: "of the service on this machine",
    },
    {
      run: "sluice explain user:42 -p /v1/items --rules rules.yaml --all",
      does: "of a file, with the rules that do not apply",
    },
  ],
  problem: "it would be denied",
})

export type CheckInvocation = Invocation<typeof check>
export type ExplainInvocation = Invocation<typeof explain>

export const checkCommand = command(check, async (invocation) =>
  (await import("../commands/check.js")).checkRequest(invocation),
)
export const explainCommand = command(explain, async (invocation) =>
  (await import("../commands/explain.js")).explainRequest(invocation),
)
