import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"

const script = fileURLToPath(new URL("../../scripts/build.mjs", import.meta.url))

/**
 * Builds a package and the packages that it imports, so that a test never runs an old build. Does nothing under `npm test`,
 * which builds everything before the tests. Ignores type errors, because `npm test` reports them.
 */
export function build(packageFolder: "packages/sluice" | "packages/server" | "packages/cli"): void {
  if (process.env.SLUICE_BUILT === "yes") return
  spawnSync(process.execPath, [script, packageFolder], { stdio: "inherit" })
}
