// `npm run test:valkey`: the tests of everything that speaks to a redis-server, on a valkey-server.

import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { install, orExplain } from "../../scripts/bootstrap.mjs"
import { root } from "../../scripts/root.mjs"
import { ensureTool } from "../../scripts/tools/ensure.mjs"

const FOLDERS = ["packages/sluice/src/redis", "test/redis", "test/differential", "test/rules"]

await orExplain(() => {
  install()
  process.env.SLUICE_REDIS_SERVER = ensureTool("valkey-server")
})
const vitest = join(root, "node_modules", "vitest", "vitest.mjs")
const args = [vitest, "run", ...FOLDERS, ...process.argv.slice(2)]
process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" }).status ?? 1
