// The gateway as people start it.

import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { onCore } from "../harness/cores.mjs"

const program = fileURLToPath(new URL("../../packages/server/dist/main.js", import.meta.url))

/** A limit that is never reached, no limit, and one that the first request uses up. */
const RULES = {
  sluice: [limited(1_000_000_000)],
  "sluice, no log": [limited(1_000_000_000)],
  "sluice, no rules": [],
  "sluice, denied": [limited(1)],
}

/**
 * @param {string} name
 * @returns {name is keyof typeof RULES}
 */
export function isSluice(name) {
  return Object.hasOwn(RULES, name)
}

/** @param {number} limit */
function limited(limit) {
  return { id: "by-address", limits: [{ algorithm: "token-bucket", limit, window: "1d" }] }
}

/**
 * @param {keyof typeof RULES} name
 * @param {number | undefined} core
 * @param {number} upstream
 * @returns {Promise<import("./nginx.mjs").Server>}
 */
export async function startSluice(name, core, upstream) {
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-gateway-"))
  const rules = join(folder, "rules.json")
  writeFileSync(rules, JSON.stringify({ version: 1, rules: RULES[name] }))
  const [command, args] = onCore(core, process.execPath, [
    ...[program, "gateway", "--upstream", `http://127.0.0.1:${upstream}`, "--rules", rules],
    ...["--gateway.port=0", "--control.port=0"],
    name === "sluice, no log"
      ? "--gateway.accessLog.format=off"
      : `--gateway.accessLog.file=${join(folder, "access.log")}`,
  ])
  const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] })
  const stop = () => {
    child.kill("SIGKILL")
    rmSync(folder, { recursive: true, force: true })
  }
  let said = ""
  /** @type {string} */
  const address = await new Promise((resolve, reject) => {
    child.stderr.on("data", (chunk) => {
      said += chunk
      const found = /"gateway":"([^"]+)"/.exec(said)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once("exit", () => reject(new Error(`the gateway ended:\n${said}`)))
  }).catch((error) => {
    stop()
    throw error
  })
  child.removeAllListeners("exit")
  const port = Number(address.slice(address.lastIndexOf(":") + 1))
  // Uses up the limit of the one that denies.
  await fetch(`http://127.0.0.1:${port}/items/7`)
  return { port, pid: child.pid, stop }
}
