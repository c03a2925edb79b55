// Commands that help to set Sluice up.

import { type Invocation, spec } from "../command.js"
import { jsonOption, serviceOptions } from "./options.js"

export const schema = spec({
  name: "schema",
  summary: "Print the JSON Schema of rules or of the configuration",
  description:
    "Editors use it to complete and check YAML. The first line of the examples in docs/rules.md shows how to refer to it.",
  arguments: [
    {
      name: "what",
      description: "What the schema describes. Default: rules.",
      choices: ["rules", "config"],
      optional: true,
    },
  ],
  examples: [
    { run: "sluice schema > rules.schema.json", does: "for rule sets" },
    { run: "sluice schema config > config.schema.json", does: "for sluice.config.yaml" },
  ],
})

export const doctor = spec({
  name: "doctor",
  summary: "Check the configuration, Redis and the service, and suggest fixes",
  description:
    "Reads the configuration as sluice serve does, from the flags below, environment variables and sluice.config.yaml. For Redis, it checks the connection, version, role, eviction policy, clock and latency, and makes test checks with a key of its own to see whether the Redis user has the permissions that the store needs.",
  options: {
    config: {
      flag: "--config <file>",
      kind: "file",
      description: "The configuration file. Default: sluice.config.yaml, if it exists.",
    },
    store: { flag: "--store <url>", description: "Overrides store.url: redis://127.0.0.1:6379." },
    rules: { flag: "--rules <file>", kind: "file", description: "Overrides rules.file." },
    ...serviceOptions,
    json: jsonOption,
  },
  examples: [
    { run: "sluice doctor", does: "before you start the service, or while it runs" },
    { run: "sluice doctor --store redis://redis:6379", does: "whether this Redis is suitable" },
    { run: "sluice doctor --json", does: "for a script" },
  ],
  problem: "a problem would stop the service from starting or from counting correctly",
})

export const completion = spec({
  name: "completion",
  summary: "Print a script that completes commands, options and values in your shell",
  arguments: [{ name: "shell", description: "The shell.", choices: ["bash", "zsh", "fish"] }],
  examples: [
    { run: "source <(sluice completion bash)", does: "bash, this session; add it to ~/.bashrc to keep it" },
    { run: 'sluice completion zsh > "$fpath[1]/_sluice"', does: "zsh, from the next session on" },
    { run: "sluice completion fish > ~/.config/fish/completions/sluice.fish", does: "fish" },
  ],
})

export type SchemaInvocation = Invocation<typeof schema>
export type DoctorInvocation = Invocation<typeof doctor>
export type CompletionInvocation = Invocation<typeof completion>
