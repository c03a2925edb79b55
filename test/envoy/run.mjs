// `npm run test:envoy`: the rate limit service behind a real Envoy, which is fetched if it is not here.

import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { install, orExplain } from "../../scripts/bootstrap.mjs"
import { root } from "../../scripts/root.mjs"
import { ensureTool } from "../../scripts/tools/ensure.mjs"

await orExplain(() => {
  install()
  process.env.SLUICE_ENVOY = ensureTool("envoy")
})
const vitest = join(root, "node_modules", "vitest", "vitest.mjs")
const args = [vitest, "run", "--config", "test/envoy/vitest.config.ts", ...process.argv.slice(2)]
process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" }).status ?? 1
