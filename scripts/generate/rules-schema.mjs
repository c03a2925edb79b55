// The JSON Schema of rule sets, for the completion and checks of editors. Shipped with the package.

import { ruleSetJsonSchema } from "../../packages/sluice/dist/rules/index.js"

/** @returns {Record<string, string>} */
export function generate() {
  return { "packages/sluice/rules.schema.json": `${JSON.stringify(ruleSetJsonSchema(), null, 2)}\n` }
}
