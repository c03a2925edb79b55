import { type Invocation, type OptionSpec, spec } from "../command.js"
import { jsonOption } from "./options.js"

/** The properties of the request to decide about. */
const requestOptions = {
  method: { flag: "-X, --method <method>", description: "The method of the request. Default: GET." },
  path: {
    flag: "-p, --path <path>",
    description: "The path of the request, with its query if it has one: /v1/items?page=2.",
  },
  host: { flag: "--host <host>", description: "The host of the request." },
  header: {
    flag: "-H, --header <header>",
    many: true,
    description: "A header of the request, as curl takes it: 'x-plan: pro'.",
  },
  tier: { flag: "--tier <name>", description: "The tier of the client." },
  cost: {
    flag: "--cost <units>",
    kind: "integer",
    min: 0,
    description: "The cost of the request, instead of the cost that the rules define. 0 charges nothing.",
  },
} as const satisfies Record<string, OptionSpec>

const whereOptions = {
  rules: {
    flag: "--rules <file>",
    kind: "file",
    description: "Decide by these rules in this process, with empty counters, instead of calling a service.",
  },
  url: {
    flag: "--url <address>",
    description: "The data plane of a service. Default: $SLUICE_DATA_URL, else http://127.0.0.1:8080.",
  },
} as const satisfies Record<string, OptionSpec>

const client = "The client: ip:203.0.113.7, user:42, or apiKey:<the key itself>. You can combine them."

export const check = spec({
  name: "check",
  summary: "Check whether a request is allowed, and charge it",
  description:
    "Describe the request by its client, method and path. Or name one rule with --rule and give the key to charge. With --rules, the command decides by a rules file and calls no service, so you can test rules before you use them.",
  arguments: [{ name: "key", description: client, many: true, optional: true }],
  options: {
    ...requestOptions,
    rule: {
      flag: "--rule <id>",
      description: "Check this rule only. <key> is then the key that the rule counts by.",
    },
    times: {
      flag: "-n, --times <count>",
      kind: "integer",
      min: 1,
      max: 10_000,
      default: "1",
      description: "How many checks to make, one after the other.",
    },
    ...whereOptions,
    json: jsonOption,
  },
  examples: [
    {
      run: "sluice check ip:203.0.113.7 --method POST --path /login",
      does: "a request, decided by the service on this machine",
    },
    { run: "sluice check user:42 --rule per-user --cost 10", does: "one rule and key, with a cost of 10" },
    {
      run: "sluice check ip:203.0.113.7 -X POST -p /login --rules rules.yaml -n 6",
      does: "six logins, decided by a rules file",
    },
  ],
  problem: "the request was denied (with --times: the last one)",
})

export const explain = spec({
  name: "explain",
  summary: "Show which rules apply to a request, and why",
  description: "Charges nothing.",
  arguments: [{ name: "key", description: client, many: true, optional: true }],
  options: {
    ...requestOptions,
    all: { flag: "-a, --all", description: "Also show the rules that do not apply." },
    ...whereOptions,
    json: jsonOption,
  },
  examples: [
    {
      run: "sluice explain ip:203.0.113.7 --method POST --path /login",
      does: "by the rules of the service on this machine",
    },
    {
      run: "sluice explain user:42 -p /v1/items --rules rules.yaml --all",
      does: "by a rules file, with the rules that do not apply",
    },
  ],
  problem: "the request would be denied",
})

export type CheckInvocation = Invocation<typeof check>
export type ExplainInvocation = Invocation<typeof explain>
