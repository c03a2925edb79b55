// Upstreams that are slow, that break, and that lie.

import { describe, expect, it } from "vitest"
import { eventually } from "../support/eventually.js"
import { FaultProxy } from "../support/fault-proxy.js"
import { LOOPBACK } from "../support/ports.js"
import { afterThis, exchange, openBackend, openGateway } from "./bed.js"
import { lateLies, lies, openLiar } from "./liars.js"

/** A gateway in front of a proxy that misbehaves on demand, in front of a backend that does not. */
async function openFaulty(settings: Record<string, unknown> = {}) {
  const backend = await openBackend((request, response) => {
    if (request.url === "/long") {
      response.writeHead(200, { "content-length": 100_000 })
      response.end(Buffer.alloc(100_000, "x"))
    } else request.resume().on("end", () => response.end("from the backend"))
  })
  const proxy = await FaultProxy.start({ host: LOOPBACK, port: backend.port })
  afterThis(() => proxy.close())
  // Whoever fails here is not left alone afterwards: each request is a case of its own.
  const upstreams = {
    default: { targets: [`http://${LOOPBACK}:${proxy.port}`], ejection: { failures: 0 } },
  }
  const gateway = await openGateway({
    upstream: proxy,
    settings: { upstream: [], upstreams, ...settings },
  })
  return { backend, proxy, gateway }
}

async function problemOf(url: string, init?: RequestInit): Promise<[number, unknown]> {
  const response = await fetch(url, init)
  expect(response.headers.get("content-type")).toBe("application/problem+json")
  const { code } = (await response.json()) as { code?: string }
  return [response.status, code]
}

describe("an upstream that is slow or unreachable", () => {
  it("causes a 504 when its answer does not begin in time", async () => {
    const { proxy, gateway } = await openFaulty({ deadlines: { headers: "100ms" } })
    proxy.delay(60_000)
    expect(await problemOf(gateway.url)).toEqual([504, "UPSTREAM_TIMEOUT"])
  })

  it("causes a 504 when it reads everything and answers nothing", async () => {
    const { proxy, gateway } = await openFaulty({ deadlines: { headers: "100ms" } })
    proxy.halfOpen()
    expect(await problemOf(gateway.url)).toEqual([504, "UPSTREAM_TIMEOUT"])
  })

  it("causes a 502 when nothing listens", async () => {
    const { proxy, gateway } = await openFaulty()
    await proxy.refuse()
    expect(await problemOf(gateway.url)).toEqual([502, "UPSTREAM_UNREACHABLE"])
  })

  it("causes a 502 when it resets the connection, and a POST is not repeated", async () => {
    const { backend, proxy, gateway } = await openFaulty()
    proxy.cut(0, "reset")
    expect(await problemOf(gateway.url, { method: "POST", body: "once" })).toEqual([502, "UPSTREAM_BROKEN"])
    expect(backend.seen).toEqual(["POST /"])
  })

  it("causes a 502 when it disconnects in the middle of its head", async () => {
    const { proxy, gateway } = await openFaulty()
    proxy.cut(20)
    expect((await problemOf(gateway.url, { method: "POST" }))[0]).toBe(502)
  })

  it("leaves a visibly incomplete answer when it disconnects in the middle", async () => {
    const { proxy, gateway } = await openFaulty()
    proxy.cut(50_000)
    const response = await fetch(`${gateway.url}/long`)
    expect(response.status).toBe(200)
    await expect(response.arrayBuffer()).rejects.toThrow()
  })

  it("is disconnected when its body stalls", async () => {
    const { proxy, gateway } = await openFaulty({ deadlines: { bodyIdle: "150ms" } })
    proxy.cut(50_000, "silence")
    const response = await fetch(`${gateway.url}/long`)
    await expect(response.arrayBuffer()).rejects.toThrow()
  })

  it("may be slow as long as data arrives", async () => {
    const { proxy, gateway } = await openFaulty({ deadlines: { bodyIdle: "1s", headers: "5s" } })
    proxy.throttle(100_000)
    const response = await fetch(`${gateway.url}/long`)
    expect((await response.arrayBuffer()).byteLength).toBe(100_000)
  })

  it("receives requests again as soon as it answers", async () => {
    const { proxy, gateway } = await openFaulty({ deadlines: { headers: "100ms" } })
    await proxy.refuse()
    expect((await fetch(gateway.url)).status).toBe(502)
    await proxy.pass()
    await eventually(async () => (await fetch(gateway.url)).status === 200)
  })

  it("notices that the client disconnected", async () => {
    const { proxy, gateway } = await openFaulty()
    proxy.throttle(10_000)
    const gone = new AbortController()
    const response = await fetch(`${gateway.url}/long`, { signal: gone.signal })
    expect(response.status).toBe(200)
    gone.abort()
    await eventually(() => proxy.stats.open === 0)
  })
})

describe("an upstream that lies", () => {
  it.each(lies)("causes a 502, and its connection is not reused: $name", async ({ bytes }) => {
    let isLying = true
    const liar = await openLiar((socket) => {
      socket.write(
        Buffer.from(isLying ? bytes : "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntruth", "latin1"),
      )
    })
    const gateway = await openGateway({
      upstream: liar,
      settings: { deadlines: { headers: "2s", bodyIdle: "2s" } },
    })
    expect(await problemOf(gateway.url, { method: "POST" })).toEqual([502, "UPSTREAM_INVALID"])
    isLying = false
    expect(await (await fetch(gateway.url)).text()).toBe("truth")
    expect(liar.connections()).toBe(2)
  })

  it.each(lateLies)(
    "leaves an incomplete answer, and its connection is not reused: $name",
    async ({ bytes }) => {
      let isLying = true
      const liar = await openLiar((socket) => {
        socket.write(
          Buffer.from(isLying ? bytes : "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntruth", "latin1"),
        )
      })
      const gateway = await openGateway({ upstream: liar, settings: { deadlines: { bodyIdle: "2s" } } })
      // Where the mistake comes along with the head it is still time for a 502.
      const whole = await fetch(gateway.url)
        .then(
          async (response) => (response.status === 200 ? await response.text() : undefined),
          () => undefined,
        )
        .catch(() => undefined)
      expect(whole).toBeUndefined()
      isLying = false
      expect(await (await fetch(gateway.url)).text()).toBe("truth")
      expect(liar.connections()).toBe(2)
    },
  )

  it("cannot leave an answer behind for the next client", async () => {
    const forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
    const honest = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntruth"
    let asked = 0
    const liar = await openLiar((socket) => void socket.write(asked++ === 0 ? honest + forged : honest))
    const gateway = await openGateway({ upstream: liar })
    for (let i = 0; i < 3; i++) expect(await (await fetch(gateway.url)).text()).toBe("truth")
  })

  it("cannot answer before it is asked", async () => {
    const liar = await openLiar((socket) => {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\ntruth", () => {
        setImmediate(() => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"))
      })
    })
    const gateway = await openGateway({ upstream: liar })
    for (let i = 0; i < 3; i++) {
      expect(await (await fetch(gateway.url)).text()).toBe("truth")
      await eventually(() => liar.open() === 0)
    }
  })

  it("cannot give a HEAD, a 204 or a 304 a body", async () => {
    const liar = await openLiar((socket, head) => {
      const status = head.startsWith("HEAD")
        ? "200 OK"
        : head.includes("/204")
          ? "204 No Content"
          : "304 Not Modified"
      const forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
      socket.write(
        `HTTP/1.1 ${status}\r\n${status.startsWith("204") ? "" : "Content-Length: 44\r\n"}\r\n${forged}`,
      )
    })
    const gateway = await openGateway({ upstream: liar })
    for (const line of ["HEAD / HTTP/1.1", "GET /204 HTTP/1.1", "GET /304 HTTP/1.1"]) {
      const { text, statuses } = await exchange(gateway.port, `${line}\r\nHost: a\r\n\r\n`)
      expect.soft(statuses, line).toHaveLength(1)
      expect.soft(text, line).not.toContain("forged")
    }
  })
})
