// A service manager in one line of shell: it holds the socket that listens, hands it to the gateway as systemd does, and
// starts another one when it ends. It never accepts a connection itself.

import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { fileURLToPath } from "node:url"
import { eventually } from "../support/eventually.js"
import { LOOPBACK } from "../support/ports.js"

const program = fileURLToPath(new URL("../../packages/server/dist/main.js", import.meta.url))

export interface Supervised {
  readonly port: number
  /** Ends the gateway with SIGTERM, and resolves when the next one is ready. */
  restart(): Promise<void>
  /** What it has logged, over all restarts. */
  logged(): Record<string, unknown>[]
  stop(): Promise<void>
}

export async function superviseGateway(args: readonly string[]): Promise<Supervised> {
  const server = createServer()
  server.listen(0, LOOPBACK)
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const { fd } = (server as unknown as { readonly _handle: { readonly fd: number } })._handle
  const loop = 'while :; do sh -c \'LISTEN_PID=$$ exec "$@"\' sh "$@" || exit 1; done'
  const child: ChildProcess = spawn(
    "sh",
    ["-c", loop, "sh", process.execPath, program, "gateway", "--control.port=0", ...args],
    { stdio: ["ignore", "ignore", "pipe", fd], env: { ...process.env, LISTEN_FDS: "1" } },
  )
  // The shell has it now. Two that accept would share the connections.
  await new Promise((resolve) => server.close(resolve))
  let stderr = ""
  child.stderr?.on("data", (chunk) => {
    stderr += chunk
  })
  const logged = () =>
    stderr
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  const pidOf = (start: number) =>
    eventually(() => logged().filter(({ msg }) => msg === "ready")[start]?.pid as number | undefined, {
      within: 60_000,
      what: `the gateway is ready (${stderr})`,
    })
  let starts = 0
  let pid = await pidOf(0)
  return {
    port,
    logged,
    async restart() {
      process.kill(pid, "SIGTERM")
      pid = await pidOf(++starts)
    },
    async stop() {
      const ended = once(child, "close")
      child.kill("SIGKILL")
      process.kill(pid, "SIGKILL")
      await ended
    },
  }
}
