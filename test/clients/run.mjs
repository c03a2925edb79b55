// `npm run test:clients`: the gateway over HTTP/2 with clients of other languages. curl and nghttp are fetched if they are not
// here, httpx from PyPI; Go has to be here.

import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { install, orExplain } from "../../scripts/bootstrap.mjs"
import { root } from "../../scripts/root.mjs"
import { runCommand } from "../../scripts/run-command.mjs"
import { ensureTool } from "../../scripts/tools/ensure.mjs"

const HTTPX = "httpx[http2]==0.28.1"

/** A Python of its own with httpx: nothing is installed elsewhere. */
function ensureHttpx() {
  const folder = join(root, "node_modules", ".cache", "tools", "httpx")
  const python = join(folder, "bin", "python")
  const hasHttpx = () => spawnSync(python, ["-c", "import httpx, h2"]).status === 0
  if (existsSync(python) && hasHttpx()) return python
  try {
    runCommand(ensureTool("python3"), ["-m", "venv", "--clear", folder], root)
    runCommand(python, ["-m", "pip", "install", "--quiet", HTTPX], root)
  } catch (error) {
    throw new Error(`httpx is needed, and could not be had: python3 -m pip install '${HTTPX}'`, {
      cause: error,
    })
  }
  return python
}

await orExplain(() => {
  install()
  for (const name of ["curl", "nghttp", "go"]) process.env[`SLUICE_${name.toUpperCase()}`] = ensureTool(name)
  process.env.SLUICE_HTTPX_PYTHON = ensureHttpx()
})
const vitest = join(root, "node_modules", "vitest", "vitest.mjs")
const args = [vitest, "run", "--config", "test/clients/vitest.config.ts", ...process.argv.slice(2)]
process.exitCode = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" }).status ?? 1
