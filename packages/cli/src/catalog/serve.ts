import { command, type Invocation, spec } from "../command.js"

const serve = spec({
  name: "serve",
  summary: "Run the service",
  description:
    "Answers checks over HTTP, gRPC and the Redis protocol, until SIGTERM or Ctrl-C. Every setting is a flag, a variable, or a line of sluice.config.yaml; docs/running.md explains them.",
  examples: [
    { run: "sluice serve", does: "in memory, with example rules, on http://127.0.0.1:8080" },
    {
      run: "sluice serve --rules.file rules.yaml --store.url redis://127.0.0.1:6379",
      does: "your rules, counters in Redis",
    },
    {
      run: "sluice serve --print-config",
      does: "show the configuration that comes of everything, secrets hidden",
    },
  ],
  problem: "it could not start",
  passThrough: true,
  moreHelp: async () => (await import("../commands/serve.js")).settingsHelp(),
})

export type ServeInvocation = Invocation<typeof serve>

export const serveCommand = command(serve, async (invocation) =>
  (await import("../commands/serve.js")).serve(invocation),
)
