import { command, type Invocation, type OptionSpec, spec } from "../command.js"
import { jsonOption } from "./options.js"

/** How a log is read. */
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
    description: "The format of the log. Default: found out from its first lines.",
  },
  logFormat: {
    flag: "--log-format <format>",
    description: "The log_format of nginx that the log is in, as its configuration has it.",
  },
  column: {
    flag: "--column <field=name>",
    many: true,
    description:
      "For CSV: which column holds time, ip, method, path, host, user, apiKey or tier, where its name does not say.",
  },
  disorder: {
    flag: "--disorder <duration>",
    kind: "duration",
    default: "1m",
    description: "Lines up to this much too late are put in order.",
  },
} as const satisfies Record<string, OptionSpec>

const replay = spec({
  name: "replay",
  summary: "Run access logs through rules: who would be denied, by what, and when",
  description:
    "Reads logs of any size as a stream, plain or gzip, and decides every request by the real rule engine at the time the log says. Several files of rules, or algorithms, are compared side by side. Nothing is sent anywhere.",
  arguments: [
    {
      name: "logs",
      kind: "file",
      many: true,
      description: "Access logs, the oldest first; - is standard input.",
    },
  ],
  options: {
    rules: {
      flag: "-r, --rules <file>",
      kind: "file",
      many: true,
      description: "Rules to try, in YAML or JSON; several are compared.",
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
      description: "Try the rules with every limit by this algorithm; several are compared.",
    },
    enforce: {
      flag: "--enforce",
      description: "Decide as if rules in shadow were enforced, to see whom they would hurt.",
    },
    html: {
      flag: "--html <file>",
      kind: "file",
      description: "Also write the report with charts as one HTML file that needs nothing else.",
    },
    ...logOptions,
    json: jsonOption,
  },
  examples: [
    { run: "sluice replay access.log --rules rules.yaml", does: "what these rules would have done" },
    { run: "sluice replay access.log.*.gz access.log -r rules.yaml --html report.html", does: "with charts" },
    { run: "sluice replay access.log -r now.yaml -r tighter.yaml", does: "two candidates side by side" },
    {
      run: "sluice replay access.log -r rules.yaml --algorithm fixed-window --algorithm gcra",
      does: "two algorithms side by side",
    },
    {
      run: "sluice replay access.log -r recommended.yaml --enforce",
      does: "whom a rule in shadow would hurt",
    },
    {
      run: "zcat logs/*.gz | sluice replay - -r rules.yaml --json",
      does: "from standard input, for programs",
    },
  ],
})

export type ReplayInvocation = Invocation<typeof replay>

export const replayCommand = command(replay, async (invocation) =>
  (await import("../commands/replay.js")).replayLogs(invocation),
)

const recommend = spec({
  name: "recommend",
  summary: "Suggest a limit from access logs, as a rule in shadow mode",
  description:
    "Finds the smallest limit that would have denied no more than a share of the clients, ever, and shows how many requests clients make in a window.",
  arguments: [
    {
      name: "logs",
      kind: "file",
      many: true,
      description: "Access logs, the oldest first; - is standard input.",
    },
  ],
  options: {
    key: {
      flag: "-k, --key <part>",
      many: true,
      description: "What clients are told apart by, as keyBy in a rule: ip, user, header:x … Default: ip.",
    },
    window: { flag: "-w, --window <duration>", kind: "duration", default: "1m", description: "The window." },
    share: {
      flag: "-s, --share <share>",
      kind: "number",
      min: 0,
      max: 0.999,
      default: "0.001",
      description: "The share of clients that may ever be denied: 0.001 is one in a thousand.",
    },
    path: {
      flag: "--path <pattern>",
      many: true,
      description: "Only requests to these paths, as in a rule.",
    },
    method: { flag: "--method <name>", many: true, description: "Only requests with these methods." },
    algorithm: {
      flag: "--algorithm <name>",
      choices: ["sliding-window-counter", "sliding-window-log", "fixed-window", "token-bucket"],
      default: "sliding-window-counter",
      description: "How the limit is going to be counted.",
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
      does: "for the API, by the hour, for all but one client in a hundred",
    },
  ],
})

export type RecommendInvocation = Invocation<typeof recommend>

export const recommendCommand = command(recommend, async (invocation) =>
  (await import("../commands/recommend.js")).recommendLimit(invocation),
)
