// `npm run test:envoy`: the rate limit service behind a real Envoy, which is fetched if it is not here. `npm run test:envoy -- --record`
// also writes recordings.generated.json anew: the calls of Envoy and the answers, which npm test replays without Envoy.

import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { install, orExplain } from "../../scripts/bootstrap.mjs"
import { root } from "../../scripts/root.mjs"
import { ensureTool } from "../../scripts/tools/ensure.mjs"

await orExplain(() => {
  install()
  process.env.SLUICE_ENVOY = ensureTool("envoy")
})
const words = process.argv.slice(2)
if (words.includes("--record")) process.env.SLUICE_RECORD = "1"
const vitest = join(root, "node_modules", "vitest", "vitest.mjs")
const args = [
  vitest,
  "run",
  "--config",
  "test/envoy/vitest.config.ts",
  ...words.filter((word) => word !== "--record"),
]
process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" }).status ?? 1
