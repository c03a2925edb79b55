// `npm run test:h2spec`: the HTTP/2 server under h2spec, which is built by Go if it is not here.

import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { install, orExplain } from "../../scripts/bootstrap.mjs"
import { root } from "../../scripts/root.mjs"
import { ensureTool } from "../../scripts/tools/ensure.mjs"

await orExplain(() => {
  install()
  process.env.SLUICE_H2SPEC = ensureTool("h2spec")
})
const vitest = join(root, "node_modules", "vitest", "vitest.mjs")
const args = [vitest, "run", "--config", "test/h2spec/vitest.config.ts", ...process.argv.slice(2)]
process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" }).status ?? 1
