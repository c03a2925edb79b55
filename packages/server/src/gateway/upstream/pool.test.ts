import { once } from "node:events"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { makeCertificate, type TestCertificate } from "../../../../../test/support/certificate.js"
import { eventually } from "../../../../../test/support/eventually.js"
import { LOOPBACK, startGateway, startRawUpstream, startUpstream } from "../front/gateway.test-support.js"
import type { Connection } from "./connection.js"
import { Pool, type Refusal } from "./pool.js"

let certificate: TestCertificate
beforeAll(() => {
  certificate = makeCertificate(["upstream.example"])
})

function take(pool: Pool, connectMs = 1_000): Promise<Connection | Refusal> {
  return new Promise((resolve) => pool.take({ connected: resolve, refused: resolve }, { connectMs }))
}

const OK = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

async function startTls() {
  const server = createServer({ cert: certificate.cert, key: certificate.key }, (request, response) =>
    response.end(`${request.headers.host} ${(request.socket as { servername?: string }).servername}`),
  )
  server.listen(0, LOOPBACK)
  await once(server, "listening")
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `https://${LOOPBACK}:${(server.address() as AddressInfo).port}`
}

describe("a pool", () => {
  it("closes idle connections after keepAliveMs, or earlier when the upstream says so", async () => {
    const upstream = await startUpstream((_request, response) => response.end("ok"))
    const kept = await startGateway(upstream.origin, { pool: { keepAliveMs: 30 } })
    await fetch(kept.url).then((answer) => answer.text())
    await eventually(() => kept.targets[0]?.pool.open === 0)
    const raw = await startRawUpstream((socket) =>
      socket.write("HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 0\r\n\r\n"),
    )
    const { url, targets } = await startGateway(raw.origin, { pool: { keepAliveMs: 60_000 } })
    await fetch(url)
    await eventually(() => targets[0]?.pool.open === 0)
  })

  it("forgets a connection that the upstream closes", async () => {
    const upstream = await startRawUpstream((socket) => socket.write(OK))
    const { url, targets } = await startGateway(upstream.origin)
    await fetch(url).then((answer) => answer.text())
    await eventually(() => targets[0]?.pool.idle === 1)
    upstream.connections[0]?.end()
    await eventually(() => targets[0]?.pool.idle === 0 && targets[0].pool.open === 0)
    expect(await fetch(url).then((answer) => answer.text())).toBe("ok")
  })

  it("opens at most maxConnections and serves waiting requests in order", async () => {
    let open = 0
    let most = 0
    const upstream = await startUpstream((request, response) => {
      most = Math.max(most, ++open)
      setImmediate(() => {
        open--
        response.end(request.url)
      })
    })
    const { url } = await startGateway(upstream.origin, { pool: { maxConnections: 3 } })
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => fetch(`${url}/${i}`).then((a) => a.text())),
    )
    expect(answers).toEqual(Array.from({ length: 30 }, (_, i) => `/${i}`))
    expect(most).toBeLessThanOrEqual(3)
    expect(upstream.connections.length).toBeLessThanOrEqual(3)
  })

  it("opens new connections after all have failed", async () => {
    let isBroken = true
    const upstream = await startRawUpstream((socket) => (isBroken ? socket.destroy() : socket.write(OK)))
    const { url } = await startGateway(upstream.origin, { pool: { maxConnections: 2 } })
    const failed = await Promise.all(
      Array.from({ length: 10 }, () => fetch(url).then(({ status }) => status)),
    )
    expect(failed).toEqual(Array(10).fill(502))
    isBroken = false
    const served = await Promise.all(
      Array.from({ length: 10 }, () => fetch(url).then(({ status }) => status)),
    )
    expect(served).toEqual(Array(10).fill(200))
  })

  it("on close, closes idle connections at once and the others after their exchange", async () => {
    let finish: (() => void) | undefined
    const upstream = await startUpstream((request, response) => {
      if (request.url === "/slow") finish = () => response.end("late")
      else response.end()
    })
    const { url, targets } = await startGateway(upstream.origin)
    const pool = targets[0]?.pool as Pool
    const slow = fetch(`${url}/slow`)
    await eventually(() => finish)
    await fetch(url).then((answer) => answer.text())
    await eventually(() => pool.idle === 1)
    let isClosed = false
    const closed = pool.close().then(() => {
      isClosed = true
    })
    await eventually(() => pool.open === 1)
    expect(isClosed).toBe(false)
    finish?.()
    expect(await (await slow).text()).toBe("late")
    await closed
    expect(pool.open).toBe(0)
    expect(await take(pool)).toBe("unreachable")
  })

  it("refuses a request at once when too many wait", async () => {
    const upstream = await startRawUpstream(() => undefined)
    const pool = new Pool(upstream.origin, { maxConnections: 1, maxWaiting: 2 })
    onTestFinished(() => pool.close())
    const held = (await take(pool)) as Connection
    const waiting = [take(pool), take(pool)]
    expect(await take(pool)).toBe("full")
    held.drop()
    for (const next of waiting) ((await next) as Connection).drop()
  })

  it("limits a client to its share, and lets clients take turns", async () => {
    const upstream = await startRawUpstream(() => undefined)
    const pool = new Pool(upstream.origin, { maxConnections: 4, maxWaiting: 8, clientShare: 0.5 })
    onTestFinished(() => pool.close())
    const order: string[] = []
    const held: Connection[] = []
    const ask = (client: string): Promise<Refusal | undefined> =>
      new Promise((resolve) => {
        const connected = (connection: Connection): void => {
          order.push(client)
          held.push(connection)
          resolve(undefined)
        }
        pool.take({ connected, refused: resolve }, { connectMs: 60_000, client })
      })
    const many = Array.from({ length: 7 }, () => ask("greedy"))
    // Two it holds, four wait, the last was refused.
    expect(await many[6]).toBe("full")
    await eventually(() => order.length === 2)
    await Promise.all([ask("modest"), ask("other")])
    expect(order).toEqual(["greedy", "greedy", "modest", "other"])
    // All are taken now. The next that becomes free is not for who has its share.
    const later = [ask("other"), ask("new")]
    held[3]?.drop()
    await eventually(() => order.length === 5)
    held[2]?.drop()
    await Promise.all(later)
    expect(order.slice(4)).toEqual(["other", "new"])
    held[0]?.drop()
    await eventually(() => order.length === 7)
    expect(order[6]).toBe("greedy")
    while (held.length > 0) held.pop()?.drop()
    await Promise.all(many)
    for (const connection of held) connection.drop()
    await eventually(() => pool.open === 0)
  })

  it("removes 50,000 waiting requests without blocking", async () => {
    const upstream = await startRawUpstream(() => undefined)
    const pool = new Pool(upstream.origin, { maxConnections: 1, maxWaiting: 50_000 })
    onTestFinished(() => pool.close())
    const held = (await take(pool)) as Connection
    const takers = Array.from({ length: 50_000 }, () => ({
      connected: () => expect.unreachable(),
      refused: () => expect.unreachable(),
    }))
    for (const taker of takers) pool.take(taker, { connectMs: 0 })
    const started = performance.now()
    for (const taker of takers.reverse()) pool.leave(taker)
    expect(performance.now() - started).toBeLessThan(2_000)
    held.drop()
  })

  it("gives a connection to the next request when the first has left", async () => {
    const upstream = await startRawUpstream((socket) => socket.write(OK))
    const pool = new Pool(upstream.origin)
    onTestFinished(() => pool.close())
    const taker = { connected: () => expect.unreachable(), refused: () => expect.unreachable() }
    pool.take(taker, { connectMs: 1_000 })
    pool.leave(taker)
    await eventually(() => pool.idle === 1)
    const connection = (await take(pool)) as Connection
    expect(upstream.connections).toHaveLength(1)
    connection.drop()
  })
})

describe("TLS to an upstream", () => {
  it("is refused for an unknown authority or another host's certificate", async () => {
    const origin = await startTls()
    const unknown = await startGateway(origin)
    expect((await fetch(unknown.url)).status).toBe(502)
    expect(unknown.failures[0]).toMatch(/UPSTREAM_UNREACHABLE: self-signed certificate/)
    const other = await startGateway(origin, {
      pool: { tls: { ca: certificate.cert, serverName: "other.example" } },
    })
    expect((await fetch(other.url)).status).toBe(502)
    expect(other.failures[0]).toMatch(/other\.example/)
  })

  it("accepts a certificate of the configured authority", async () => {
    const origin = await startTls()
    const { url, targets } = await startGateway(origin, {
      pool: { tls: { ca: certificate.cert, serverName: "upstream.example" } },
      route: { keepHost: false },
    })
    for (let i = 0; i < 3; i++)
      expect(await fetch(url).then((answer) => answer.text())).toBe(`${origin.slice(8)} upstream.example`)
    expect(targets[0]?.pool.open).toBe(1)
  })
})
