import { command, type Invocation, spec } from "../command.js"

const schema = spec({
  name: "schema",
  summary: "Print the JSON Schema of rules or of the configuration",
  description: "Editors complete and check YAML by it: see the first line of the examples in docs/rules.md.",
  arguments: [
    {
      name: "what",
      description: "What it describes. Default: rules.",
      choices: ["rules", "config"],
      optional: true,
    },
  ],
  examples: [
    { run: "sluice schema > rules.schema.json", does: "for rule sets" },
    { run: "sluice schema config > config.schema.json", does: "for sluice.config.yaml" },
  ],
})

export type SchemaInvocation = Invocation<typeof schema>

export const schemaCommand = command(schema, async (invocation) =>
  (await import("../commands/schema.js")).printSchema(invocation),
)
