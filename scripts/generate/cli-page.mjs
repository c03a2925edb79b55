// docs/cli.md, from the specs of the commands.

import { commands } from "../../packages/cli/dist/commands/index.js"
import { docsPage } from "../../packages/cli/dist/docs-page.js"

/** @returns {Record<string, string>} */
export function generate() {
  return { "docs/cli.md": docsPage(commands.map(({ spec }) => spec)) }
}
