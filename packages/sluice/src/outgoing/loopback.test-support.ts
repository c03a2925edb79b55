import { createServer, type RequestListener, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import type { RunningApp } from "../middleware/suite/adapter-app.test-support.js"

/** Serves on a free port of loopback. `close` ends all connections. */
export async function listenOnLoopback(listener: RequestListener): Promise<RunningApp & { server: Server }> {
  const server = createServer(listener).listen(0, "127.0.0.1")
  await new Promise((resolve) => server.once("listening", resolve))
  const { port } = server.address() as AddressInfo
  return {
    server,
    url: `http://127.0.0.1:${port}`,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
