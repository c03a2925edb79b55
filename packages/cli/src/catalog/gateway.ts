import { command, type Invocation, spec } from "../command.js"

const gateway = spec({
  name: "gateway",
  summary: "Run a reverse proxy that limits what it forwards",
  description:
    "In front of an application that knows nothing of limits, until SIGTERM or Ctrl-C. Every other setting is as for sluice serve; docs/gateway.md explains them.",
  options: {
    upstream: {
      flag: "--upstream <address>",
      description:
        "Where requests go: http://127.0.0.1:3000, or several with commas. Short for --gateway.upstream.",
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
      does: "in front of two instances, counters in Redis",
    },
  ],
  problem: "it could not start",
  passThrough: true,
  moreHelp: async () => (await import("../commands/serve.js")).settingsHelp(),
})

export type GatewayInvocation = Invocation<typeof gateway>

export const gatewayCommand = command(gateway, async (invocation) =>
  (await import("../commands/serve.js")).serveGateway(invocation),
)
