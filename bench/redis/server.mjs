// The redis-server of a run: on a free loopback port, without persistence and without I/O threads.

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onCore } from "../harness/cores.mjs"
import { ensureTool } from "../harness/set-up.mjs"

/** Each contender has its own database, so that all can use the same keys. */
export const DATABASES = 32

/** @typedef {{ port: number, stop: () => Promise<void> }} Server */

/**
 * @param {number | undefined} core
 * @returns {Promise<Server>}
 */
export async function startServer(core) {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), "sluice-bench-"))
  const settings = {
    port,
    bind: "127.0.0.1",
    save: "",
    appendonly: "no",
    databases: DATABASES,
    "io-threads": 1,
    dir: folder,
  }
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
  const [command, all] = onCore(core, ensureTool("redis-server"), args)
  const child = spawn(command, all, { stdio: ["ignore", "pipe", 2] })
  const ended = once(child, "exit")
  const stop = async () => {
    process.off("exit", kill)
    child.kill()
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  const kill = () => {
    child.kill("SIGKILL")
    rmSync(folder, { recursive: true, force: true })
  }
  process.once("exit", kill)
  // Without a listener these end the process at once, and the server would stay.
  for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"]))
    process.once(signal, () => process.exit(1))
  await untilReady(child)
  return { port, stop }
}

/** @param {import("node:child_process").ChildProcess} child */
async function untilReady(child) {
  let log = ""
  for await (const chunk of child.stdout ?? []) {
    log += chunk
    if (log.includes("Ready to accept connections")) {
      child.stdout?.resume()
      return
    }
  }
  throw new Error(`redis-server ended before it was ready:\n${log}`)
}

/** @returns {Promise<number>} */
async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1")
  await once(probe, "listening")
  const { port } = /** @type {import("node:net").AddressInfo} */ (probe.address())
  probe.close()
  await once(probe, "close")
  return port
}
