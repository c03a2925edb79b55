// The JSON Schema of the service's configuration, for the completion and checks of editors. Shipped with the package.

import { configJsonSchema } from "../../packages/server/dist/config/schema.js"

/** @returns {Record<string, string>} */
export function generate() {
  return { "packages/server/config.schema.json": `${JSON.stringify(configJsonSchema(), null, 2)}\n` }
}
