// docs/cli.md: what the commands say of themselves.

import { catalog } from "../../packages/cli/dist/catalog/index.js"
import { docsPage } from "../../packages/cli/dist/docs-page.js"

/** @returns {Record<string, string>} */
export function generate() {
  return { "docs/cli.md": docsPage(catalog) }
}
