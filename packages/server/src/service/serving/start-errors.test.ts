import { once } from "node:events"
import { createServer, type Server } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { reservePort } from "../../../../../test/support/ports.js"
import { configSchema } from "../../config/schema.js"
import { commandLine } from "../command-line.js"
import { suggestPorts } from "./free-port.js"
import { type FailedListen, ListenError } from "./start-errors.js"

const others: Server[] = []

afterEach(() => {
  for (const server of others.splice(0)) server.close()
})

async function take(port: number): Promise<number> {
  const server = createServer().listen(port, "127.0.0.1")
  others.push(server)
  await once(server, "listening")
  return port
}

describe("suggestPorts", () => {
  it("finds every port that is in use, and suggests free ones that the service does not use itself", async () => {
    const { port, release } = await reservePort()
    const { port: grpc, release: releaseGrpc } = await reservePort()
    await take(port)
    await take(grpc)
    // What is next to it is wanted by the control plane, and nobody has it yet.
    const config = configSchema.parse({ http: { port }, grpc: { port: grpc }, control: { port: port + 1 } })
    const suggestions = await suggestPorts(config, new Set())
    expect(suggestions.map(({ name, port }) => [name, port])).toEqual([
      ["http", port],
      ["grpc", grpc],
    ])
    const free = suggestions.map((suggestion) => suggestion.free)
    expect(new Set([...free, port, grpc, port + 1]).size).toBe(5)
    for (const suggested of free) await take(suggested)
    await release()
    await releaseGrpc()
  })

  it("ignores ports that this process already listens on, and protocols that are off", async () => {
    const { port, release } = await reservePort()
    await take(port)
    const config = configSchema.parse({
      http: { port },
      grpc: { port: 0 },
      control: { enabled: false, port },
    })
    expect(await suggestPorts(config, new Set(["http"]))).toEqual([])
    await release()
  })
})

describe("ListenError", () => {
  const taken: FailedListen = {
    setting: "http",
    host: "127.0.0.1",
    port: 8080,
    code: "EADDRINUSE",
    reason: "listen EADDRINUSE",
    suggestions: [{ name: "http", port: 8080, free: 8082 }],
  }

  it("repeats the command as it was typed, with a free port", () => {
    const argv = ["--http.port", "8080", "--rules.file", "my rules.yaml", "--no-grpc.enabled"]
    expect(new ListenError(taken, commandLine("npm start", argv)).message).toBe(
      "Port 8080 on 127.0.0.1 is taken by another program. Stop it, or use another port:\n\n" +
        "  npm start -- --rules.file 'my rules.yaml' --no-grpc.enabled --http.port 8082\n",
    )
    expect(new ListenError(taken, commandLine("npm start", [])).message).toContain(
      "\n  npm start -- --http.port 8082\n",
    )
    expect(new ListenError(taken, commandLine("sluice", ["gateway", "--http.port=8080"])).message).toContain(
      "\n  sluice gateway --http.port 8082\n",
    )
  })

  it("names all ports that are in use", () => {
    const suggestions = [...taken.suggestions, { name: "grpc", port: 8081, free: 8083 } as const]
    expect(new ListenError({ ...taken, suggestions }).message).toBe(
      "Ports 8080 and 8081 are taken by other programs. Stop them, or use other ports:\n\n" +
        "  npm start -- --http.port 8082 --grpc.port 8083\n",
    )
  })

  it("never repeats a secret", () => {
    const argv = ["--secret", "hunter2", "--resp.password=hunter2", "--store.url", "redis://me:hunter2@redis"]
    const { message } = new ListenError(taken, commandLine("npm start", argv))
    expect(message).not.toContain("hunter2")
    expect(message).toContain("--secret … --resp.password=… --store.url 'redis://***@redis' --http.port 8082")
  })
})
