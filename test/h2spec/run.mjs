// `npm run test:h2spec`: the HTTP/2 server under h2spec, which is built by Go if it is not here. `npm run test:h2spec -- --record`
// also writes conversations.txt anew: what h2spec and the server send each other, which npm test replays without h2spec.

import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { install, orExplain } from "../../scripts/bootstrap.mjs"
import { root } from "../../scripts/root.mjs"
import { ensureTool } from "../../scripts/tools/ensure.mjs"

await orExplain(() => {
  install()
  process.env.SLUICE_H2SPEC = ensureTool("h2spec")
})
const words = process.argv.slice(2)
if (words.includes("--record")) process.env.SLUICE_RECORD = "1"
const vitest = join(root, "node_modules", "vitest", "vitest.mjs")
const args = [
  vitest,
  "run",
  "--config",
  "test/h2spec/vitest.config.ts",
  ...words.filter((word) => word !== "--record"),
]
process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" }).status ?? 1
