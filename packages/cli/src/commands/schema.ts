import { configJsonSchema } from "@sluice/server/config"
import { ruleSetJsonSchema } from "sluice/rules"
import type { SchemaInvocation } from "../catalog/setup.js"
import type { ExitCode } from "../command.js"

export async function printSchema({ args, terminal }: SchemaInvocation): Promise<ExitCode> {
  terminal.json(args.what === "config" ? configJsonSchema() : ruleSetJsonSchema())
  return 0
}
