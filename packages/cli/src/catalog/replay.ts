import { type Invocation, type OptionSpec, spec } from "../command.js"
import { jsonOption } from "./options.js"

/** How to read a log. */
const logOptions = {
  format: {
    flag: "--format <name>",
    choices: [
      "common",
      "combined",
      "nginx",
      "caddy",
      "traefik",
      "envoy",
      "alb",
      "cloudfront",
      "csv",
      "record",
    ],
    description: "The format of the log. Default: detected from its first lines.",
  },
  logFormat: {
    flag: "--log-format <format>",
    description: "The log_format directive of nginx that the log was written with.",
  },
  column: {
    flag: "--column <field=name>",
    many: true,
    description:
      "For CSV: the name of the column that contains time, ip, method, path, host, user, apiKey, tier or bytes, if it differs from the field.",
  },
  disorder: {
    flag: "--disorder <duration>",
    kind: "duration",
    default: "1m",
    description: "Sort lines that are out of order by up to this much.",
  },
} as const satisfies Record<string, OptionSpec>

const logArguments = [
  {
    name: "logs",
    kind: "file",
    many: true,
    description: "Access logs, the oldest first. - is standard input.",
  },
] as const

export const replay = spec({
  name: "replay",
  summary: "Run access logs through rules: who would be denied, by which rule, and when",
  description:
    "Reads logs of any size as a stream, plain or gzipped, and decides every request with the real rule engine at the time in the log. Several rules files or algorithms are compared side by side. Nothing is sent over the network.",
  arguments: logArguments,
  options: {
    rules: {
      flag: "-r, --rules <file>",
      kind: "file",
      many: true,
      description: "The rules to test, in YAML or JSON. Several files are compared.",
    },
    algorithm: {
      flag: "--algorithm <name>",
      many: true,
      choices: [
        "fixed-window",
        "sliding-window-log",
        "sliding-window-counter",
        "token-bucket",
        "leaky-bucket",
        "gcra",
      ],
      description: "Use this algorithm for every limit of the rules. Several algorithms are compared.",
    },
    enforce: {
      flag: "--enforce",
      description: "Treat rules in shadow mode as enforced, to see which clients they would deny.",
    },
    costField: {
      flag: "--cost-field <field[=weight]>",
      many: true,
      description:
        "For rules that take their cost from the response: the field of the log that contains the real cost. The sum of several fields counts, each by its weight.",
    },
    costBytesPerUnit: {
      flag: "--cost-bytes-per-unit <bytes>",
      kind: "number",
      min: 0.001,
      description:
        "For rules that take their cost from the response: so many bytes of a response in the log cost one unit.",
    },
    html: {
      flag: "--html <file>",
      kind: "file",
      description: "Also write the report with charts as one self-contained HTML file.",
    },
    ...logOptions,
    json: jsonOption,
  },
  examples: [
    { run: "sluice replay access.log --rules rules.yaml", does: "what these rules would have done" },
    { run: "sluice replay access.log.*.gz access.log -r rules.yaml --html report.html", does: "with charts" },
    { run: "sluice replay access.log -r now.yaml -r tighter.yaml", does: "two rules files side by side" },
    {
      run: "sluice replay access.log -r rules.yaml --algorithm fixed-window --algorithm gcra",
      does: "two algorithms side by side",
    },
    {
      run: "sluice replay access.log -r recommended.yaml --enforce",
      does: "which clients a rule in shadow mode would deny",
    },
    {
      run: "sluice replay gateway.json -r tokens.yaml --cost-field usage.total_tokens",
      does: "with the real costs from a field of the log",
    },
    {
      run: "zcat logs/*.gz | sluice replay - -r rules.yaml --json",
      does: "from standard input, as JSON",
    },
  ],
})

export const recommend = spec({
  name: "recommend",
  summary: "Suggest a limit from access logs, as a rule in shadow mode",
  description:
    "Finds the smallest limit that would have denied at most a given share of the clients, and shows how many requests clients make in a window.",
  arguments: logArguments,
  options: {
    key: {
      flag: "-k, --key <part>",
      many: true,
      description: "What identifies a client, as keyBy in a rule: ip, user, header:x … Default: ip.",
    },
    window: {
      flag: "-w, --window <window>",
      default: "1m",
      description: "The window of the limit: a duration, or hour, day, week or month of the calendar.",
    },
    timeZone: {
      flag: "--time-zone <name>",
      description: "The time zone of a window of the calendar, such as Europe/Berlin. Default: UTC.",
    },
    share: {
      flag: "-s, --share <share>",
      kind: "number",
      min: 0,
      max: 0.999,
      default: "0.001",
      description: "The share of clients that the limit may deny at least once: 0.001 is one in a thousand.",
    },
    path: {
      flag: "--path <pattern>",
      many: true,
      description: "Count only requests to these paths, written as in a rule.",
    },
    method: { flag: "--method <name>", many: true, description: "Count only requests with these methods." },
    algorithm: {
      flag: "--algorithm <name>",
      choices: ["sliding-window-counter", "sliding-window-log", "fixed-window", "token-bucket"],
      description:
        "The algorithm of the limit. Default: sliding-window-counter, or fixed-window for a window of the calendar.",
    },
    id: { flag: "--id <id>", default: "recommended", description: "The id of the rule." },
    output: { flag: "-o, --output <file>", kind: "file", description: "Write the rule to this file." },
    ...logOptions,
    json: jsonOption,
  },
  examples: [
    { run: "sluice recommend access.log", does: "a limit per address and minute" },
    {
      run: "sluice recommend access.log --path '/v1/**' --window 1h --share 0.01 -o api.yaml",
      does: "for the API, per hour, denying at most one client in a hundred",
    },
    {
      run: "sluice recommend access.log --window month --time-zone Europe/Berlin",
      does: "a quota per month of the calendar",
    },
  ],
})

export type ReplayInvocation = Invocation<typeof replay>
export type RecommendInvocation = Invocation<typeof recommend>
