import { execFile } from "node:child_process"
import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { text } from "node:stream/consumers"
import { promisify } from "node:util"
import { describe, expect, it, onTestFinished } from "vitest"
import { WebSocket, WebSocketServer } from "ws"
import { eventually } from "../../../../../test/support/eventually.js"
import { toolPath } from "../../../../../test/support/tool.js"
import { testCore } from "../../core.test-support.js"
import {
  LOOPBACK,
  lastRequest,
  standstill,
  startGateway,
  startRawUpstream,
  startUpstream,
  type TestGatewayOptions,
  talk,
} from "./gateway.test-support.js"
import { createLimiting } from "./limiting.js"

const run = promisify(execFile)

/** Answers each message with itself. */
async function startEcho() {
  const upstream = await startUpstream((_request, response) => response.end("plain"))
  const sockets = new WebSocketServer({ server: upstream.server })
  sockets.on("connection", (socket) =>
    socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary })),
  )
  return { upstream, sockets }
}

async function start(options?: TestGatewayOptions) {
  const echo = await startEcho()
  return { ...echo, ...(await startGateway(echo.upstream.origin, options)) }
}

function open(port: number, localAddress = LOOPBACK): WebSocket {
  const socket = new WebSocket(`ws://${LOOPBACK}:${port}/chat?room=1`, { localAddress })
  onTestFinished(() => socket.terminate())
  socket.on("error", () => undefined)
  return socket
}

const handshake = (...headers: string[]) =>
  `${["GET / HTTP/1.1", "host: a", "connection: Upgrade", ...headers].join("\r\n")}\r\n\r\n`

describe("a WebSocket", () => {
  it("is relayed in both directions, including its end", async () => {
    const { port, gateway, ended, targets } = await start()
    const client = open(port)
    await once(client, "open")
    expect(gateway.upgrades).toBe(1)
    expect(targets[0]?.active).toBe(1)
    for (const message of ["hello", "x".repeat(1_000_000)]) {
      client.send(message)
      const [data] = await once(client, "message")
      expect(String(data)).toBe(message)
    }
    client.close(1000, "done")
    await once(client, "close")
    await eventually(() => gateway.upgrades === 0)
    expect(await eventually(() => ended[0])).toMatchObject({ status: 101, path: "/chat", error: undefined })
    expect(ended[0]?.bytesIn).toBeGreaterThan(1_000_000)
    expect(ended[0]?.bytesOut).toBeGreaterThan(1_000_000)
    expect(targets[0]).toMatchObject({ active: 0, outcomes: ["answered"] })
    await eventually(() => targets[0]?.pool.open === 0)
  })

  it("ends for the client when the upstream ends it, and the other way round", async () => {
    const { port, upstream, sockets } = await start()
    const first = open(port)
    await once(first, "open")
    for (const socket of sockets.clients) socket.close(4000, "enough")
    expect(await once(first, "close")).toMatchObject([4000, Buffer.from("enough")])
    const second = open(port)
    await once(second, "open")
    second.terminate()
    await eventually(() => upstream.connections.every((socket) => socket.destroyed))
  })

  it("is limited like any other request", async () => {
    const core = testCore(
      "{ version: 1, rules: [{ id: all, keyBy: ip, limits: [{ algorithm: fixed-window, limit: 1, window: 1m }] }] }",
    )
    onTestFinished(() => core.close())
    const { port, sockets, ended } = await start({ limiting: createLimiting(core) })
    const first = open(port)
    const [upgraded] = await once(first, "upgrade")
    expect(upgraded.headers["x-ratelimit-remaining"]).toBe("0")
    const second = open(port)
    const [, answer] = await once(second, "unexpected-response")
    expect(answer.statusCode).toBe(429)
    expect(answer.headers["retry-after"]).toMatch(/^\d+$/)
    expect(sockets.clients.size).toBe(1)
    await eventually(() => ended.some(({ status }) => status === 429))
  })

  const oneAtOnce = (more: string) =>
    testCore(
      `{ version: 1, rules: [{ id: all, keyBy: ip, limits: [{ algorithm: concurrency, limit: 1, hold: 30s }]${more} }] }`,
    )

  it("holds its place until the upgrade is answered", async () => {
    const core = oneAtOnce("")
    onTestFinished(() => core.close())
    const { port, gateway } = await start({ limiting: createLimiting(core, { clock: core.clock }) })
    for (let i = 0; i < 3; i++) await once(open(port), "open")
    expect(gateway.upgrades).toBe(3)
    expect(core.clock.pending).toBe(0)
  })

  it("holds its place until it closes if the rule says so, however short its hold is", async () => {
    const core = oneAtOnce(", holdUpgrades: true")
    onTestFinished(() => core.close())
    const { port, gateway } = await start({ limiting: createLimiting(core, { clock: core.clock }) })
    const first = open(port)
    await once(first, "open")
    for (let seconds = 0; seconds < 60; seconds += 10) {
      const [, answer] = await once(open(port), "unexpected-response")
      expect(answer.statusCode).toBe(429)
      core.clock.advance(10_000)
      await eventually(() => core.clock.pending === 1)
    }
    first.close()
    await eventually(() => gateway.upgrades === 0)
    expect(core.clock.pending).toBe(0)
    await once(open(port), "open")
  })

  it("is refused when too many are open, and accepted again when one has ended", async () => {
    const { port, gateway } = await start({ maxUpgrades: 2 })
    const [first, second] = [open(port), open(port)]
    await Promise.all([once(first, "open"), once(second, "open")])
    const [, answer] = await once(open(port), "unexpected-response")
    expect(answer.statusCode).toBe(503)
    expect(answer.headers["content-type"]).toBe("application/problem+json")
    first.close()
    await eventually(() => gateway.upgrades === 1)
    await once(open(port), "open")
  })

  it("is limited to a share per client", async () => {
    const { port, gateway } = await start({ maxUpgrades: 4, clientShare: 0.5 })
    const from = (localAddress: string) => open(port, localAddress)
    const greedy = [from("127.0.0.2"), from("127.0.0.2")]
    await Promise.all(greedy.map((client) => once(client, "open")))
    const [, answer] = await once(from("127.0.0.2"), "unexpected-response")
    expect(answer.statusCode).toBe(503)
    await once(from("127.0.0.3"), "open")
    greedy[0]?.close()
    await eventually(() => gateway.upgrades === 2)
    await once(from("127.0.0.2"), "open")
  })

  it("pauses an upstream that is faster than its client", async () => {
    const upstream = await startRawUpstream((socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: flood\r\n\r\n")
      const flood = () => {
        while (socket.write(Buffer.alloc(1 << 20)));
      }
      socket.on("drain", flood)
      flood()
    })
    const { port } = await startGateway(upstream.origin)
    const client = connect(port, LOOPBACK)
    onTestFinished(() => void client.destroy())
    client.write(handshake("upgrade: flood"))
    await once(client, "readable")
    const sent = () => (upstream.connections[0] as Socket).bytesWritten
    await standstill(sent)
    expect(sent()).toBeLessThan(64 << 20)
  })
})

describe("an upgrade", () => {
  it("to any protocol is relayed, with the bytes that either side sent early", async () => {
    const upstream = await startRawUpstream((socket, received) => {
      if (received.endsWith("\r\n\r\n"))
        socket.write(
          "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other/1\r\nX-A: b\r\n\r\nfirst",
        )
      if (received.endsWith("early")) socket.end("bye")
    })
    const { port } = await startGateway(upstream.origin)
    const answer = await talk(port, `${handshake("upgrade: other/1")}early`)
    expect(answer).toMatch(
      /^HTTP\/1.1 101 Switching Protocols\r\n(?=[\s\S]*X-A: b\r\n)(?=[\s\S]*upgrade: other\/1\r\n)/i,
    )
    expect(answer).toMatch(/\r\n\r\nfirstbye$/)
    expect(upstream.received[0]).toMatch(/connection: upgrade\r\nupgrade: other\/1\r\n\r\nearly$/)
  })

  it("that the upstream refuses gets the answer of the upstream", async () => {
    const { port } = await start()
    const answer = await talk(port, handshake("upgrade: nothing"))
    expect(answer).toMatch(/^HTTP\/1.1 (400|426|200)/)
    const upstream = await startRawUpstream((socket) =>
      socket.write("HTTP/1.1 403 Forbidden\r\ntransfer-encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n"),
    )
    const second = await startGateway(upstream.origin)
    const refused = await talk(second.port, handshake("upgrade: websocket"))
    expect(refused).toMatch(/^HTTP\/1.1 403 Forbidden\r\n[\s\S]*connection: close\r\n\r\nno$/)
    expect(await eventually(() => second.ended[0])).toMatchObject({ status: 403, bytesOut: 2 })
  })

  it("to cleartext HTTP/2 is not forwarded, because its requests would bypass the rules", async () => {
    const upstream = await startUpstream(async (request, response) =>
      response.end(`got ${await text(request)}`),
    )
    const { port, gateway } = await startGateway(upstream.origin)
    const asks = ["connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__"]
    const first = `${["POST /1 HTTP/1.1", "host: a", ...asks, "content-length: 4"].join("\r\n")}\r\n\r\nbody`
    // The connection goes on as if nothing had been asked.
    const answer = await talk(port, first, lastRequest("POST /2", "content-length: 5"), "other")
    expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n[\s\S]*got bodyHTTP\/1.1 200 OK\r\n[\s\S]*got other$/)
    expect(upstream.requests.map(({ url }) => url)).toEqual(["/1", "/2"])
    expect(upstream.requests[0]?.headers).not.toHaveProperty("upgrade")
    expect(upstream.requests[0]?.headers).not.toHaveProperty("http2-settings")
    expect(gateway.upgrades).toBe(0)
  })

  it("to cleartext HTTP/2 that curl offers does not break its request", async () => {
    const { port } = await start()
    const { stdout } = await run(toolPath("curl"), [
      "-s",
      "--http2",
      "-w",
      " %{http_version}",
      `http://${LOOPBACK}:${port}/`,
    ])
    expect(stdout).toBe("plain 1.1")
  })

  it("with a body is refused, because the body could be read as another request", async () => {
    const { port, upstream } = await start()
    const smuggled = "GET /admin HTTP/1.1\r\nhost: a\r\n\r\n"
    const answer = await talk(
      port,
      handshake("upgrade: websocket", `content-length: ${smuggled.length}`) + smuggled,
    )
    expect(answer).toMatch(/^HTTP\/1.1 400 /)
    expect(upstream.requests).toHaveLength(0)
  })

  it("is answered 502 when the upstream is unreachable, and 504 when it does not answer", async () => {
    const silent = await startRawUpstream(() => undefined)
    const { port, targets } = await startGateway(silent.origin, { deadlines: { headers: 50 } })
    expect(await talk(port, handshake("upgrade: websocket"))).toMatch(
      /^HTTP\/1.1 504 [\s\S]*UPSTREAM_TIMEOUT/,
    )
    expect(targets[0]?.outcomes).toEqual(["failed"])
    const closing = await startRawUpstream((socket) => socket.destroy())
    const second = await startGateway(closing.origin)
    expect(await talk(second.port, handshake("upgrade: websocket"))).toMatch(
      /^HTTP\/1.1 502 [\s\S]*UPSTREAM_BROKEN/,
    )
    expect(second.gateway.upgrades).toBe(0)
  })

  it("is cancelled when the client leaves before the upstream answers", async () => {
    const silent = await startRawUpstream(() => undefined)
    const { port, gateway, ended } = await startGateway(silent.origin)
    const client = connect(port, LOOPBACK)
    client.write(handshake("upgrade: websocket"))
    await eventually(() => silent.received[0]?.endsWith("\r\n\r\n"))
    client.destroy()
    await eventually(() => silent.connections[0]?.destroyed && gateway.upgrades === 0)
    expect(await eventually(() => ended[0])).toMatchObject({ status: 499 })
  })
})
