// The JSON Schemas of rule sets and of the configuration, which editors use for completion and checks. The packages contain them.

import { configJsonSchema } from "../../packages/server/dist/config/schema.js"
import { ruleSetJsonSchema } from "../../packages/sluice/dist/rules/index.js"

/** @returns {Record<string, string>} */
export function generate() {
  return {
    "packages/server/config.schema.json": `${JSON.stringify(configJsonSchema(), null, 2)}\n`,
    "packages/sluice/rules.schema.json": `${JSON.stringify(ruleSetJsonSchema(), null, 2)}\n`,
  }
}
