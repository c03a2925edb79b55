// `npm run test:valkey`: the tests of everything that speaks to a redis-server, on a valkey-server.

import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { install, orExplain } from "../../scripts/bootstrap.mjs"
import { root } from "../../scripts/root.mjs"
import { ensureTool } from "../../scripts/tools/ensure.mjs"
import { testFiles, toolsOf } from "../../scripts/tools/needs.mjs"

await orExplain(() => {
  install()
  process.env.SLUICE_VALKEY_SERVER = ensureTool("valkey-server")
  process.env.SLUICE_REDIS_SERVER = process.env.SLUICE_VALKEY_SERVER
})
// Tests that also need a browser are left out: they test nothing more of the server.
const files = [...toolsOf(testFiles())].flatMap(([file, tools]) =>
  tools.has("redis-server") && !tools.has("chromium") ? [file] : [],
)
const vitest = join(root, "node_modules", "vitest", "vitest.mjs")
const args = [vitest, "run", ...files, ...process.argv.slice(2)]
process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" }).status ?? 1
