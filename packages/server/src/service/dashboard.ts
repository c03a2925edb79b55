import { existsSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const FOLDER = fileURLToPath(new URL("../../../dashboard/dist", import.meta.url))

/** The folder with the dashboard as it was built. Undefined where nobody has: the API works without. */
export function bundledDashboard(): string | undefined {
  return existsSync(join(FOLDER, "index.html")) ? FOLDER : undefined
}
