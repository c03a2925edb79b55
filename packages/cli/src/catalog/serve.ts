import { type Invocation, spec } from "../command.js"

export const serve = spec({
  name: "serve",
  summary: "Run the service",
  description:
    "Answers checks over HTTP, gRPC and the Redis protocol, until SIGTERM or Ctrl-C. A setting can be a flag, an environment variable, or a line in sluice.config.yaml; docs/running.md explains them.",
  examples: [
    { run: "sluice serve", does: "with the memory store and example rules, on http://127.0.0.1:8080" },
    {
      run: "sluice serve --rules.file rules.yaml --store.url redis://127.0.0.1:6379",
      does: "with your rules, and counters in Redis",
    },
    {
      run: "sluice serve --print-config",
      does: "print the configuration that results from flags, variables and file, without secrets",
    },
  ],
  problem: "the service could not start",
  passThrough: true,
  moreHelp: settingsHelp,
})

export const gateway = spec({
  name: "gateway",
  summary: "Run a reverse proxy that limits the requests it forwards",
  description:
    "Runs in front of an application that has no limits of its own, until SIGTERM or Ctrl-C. All other settings are those of sluice serve; docs/gateway.md explains them.",
  options: {
    upstream: {
      flag: "--upstream <address>",
      description:
        "Where to forward requests: http://127.0.0.1:3000, or several addresses separated by commas. Short for --gateway.upstream.",
    },
    rules: { flag: "--rules <file>", kind: "file", description: "Short for --rules.file." },
  },
  examples: [
    {
      run: "sluice gateway --upstream http://127.0.0.1:3000 --rules rules.yaml",
      does: "in front of one application",
    },
    {
      run: "sluice gateway --upstream http://10.0.0.5:3000,http://10.0.0.6:3000 --store.url redis://10.0.0.9:6379",
      does: "in front of two instances, with counters in Redis",
    },
  ],
  problem: "the gateway could not start",
  passThrough: true,
  moreHelp: settingsHelp,
})

async function settingsHelp(): Promise<string> {
  const { settingLines } = await import("@sluice/server/config")
  const config = `  ${"--config <file>".padEnd(34)} The configuration file. Default: sluice.config.yaml, if it exists.`
  return ["Settings:", config, ...settingLines()].join("\n")
}

export type ServeInvocation = Invocation<typeof serve>
export type GatewayInvocation = Invocation<typeof gateway>
