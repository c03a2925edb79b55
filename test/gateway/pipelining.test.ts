// Pipelined requests: one per connection is in progress at a time, and nothing after a refused one is ever forwarded.

import type { ServerResponse } from "node:http"
import { describe, expect, it } from "vitest"
import { eventually } from "../support/eventually.js"
import { dial, exchange, openBackend, openGateway } from "./bed.js"

const ahead = (path: string) => `GET ${path} HTTP/1.1\r\nHost: a\r\nTE: x\r\n\r\n`
const ADMIN = "POST /admin HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"

describe("a client that pipelines many requests", () => {
  it("has one of them in progress at a time, and other clients are answered meanwhile", async () => {
    const held: ServerResponse[] = []
    const backend = await openBackend((request, response) => {
      if (request.url === "/other") response.end("other")
      else held.push(response)
    })
    const gateway = await openGateway({ upstream: backend, settings: { deadlines: { connect: "2s" } } })
    const socket = await dial(gateway.port)
    let text = ""
    socket.on("data", (bytes) => {
      text += bytes
    })
    socket.write(ahead("/held").repeat(3_000))
    await eventually(() => held.length > 0)
    for (let i = 0; i < 5; i++) expect((await fetch(`${gateway.url}/other`)).status).toBe(200)
    expect(held).toHaveLength(1)
    held[0]?.end("first")
    await eventually(() => held.length === 2)
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(1)
  })

  it("gets all answers in order", async () => {
    const backend = await openBackend((request, response) => response.end(`<${request.url}>`))
    const gateway = await openGateway({ upstream: backend })
    const paths = Array.from({ length: 300 }, (_, i) => `/${i}`)
    const { text } = await exchange(gateway.port, paths.map(ahead).join(""), 1_000)
    expect([...text.matchAll(/<(.*?)>/g)].map(([, path]) => path)).toEqual(paths)
  })

  it("does not delay others with 100,000 of them, nor when it disconnects", async () => {
    const backend = await openBackend((request, response) => {
      if (request.url === "/other") response.end("other")
    })
    const gateway = await openGateway({ upstream: backend })
    let longest = 0
    let last = performance.now()
    const timer = setInterval(() => {
      longest = Math.max(longest, performance.now() - last)
      last = performance.now()
    }, 5)
    const socket = await dial(gateway.port)
    socket.write(ahead("/").repeat(100_000))
    await eventually(() => backend.seen.length > 0)
    expect(await (await fetch(`${gateway.url}/other`)).text()).toBe("other")
    socket.destroy()
    expect(await (await fetch(`${gateway.url}/other`)).text()).toBe("other")
    clearInterval(timer)
    expect(longest).toBeLessThan(1_000)
  })

  it("is disconnected when the upstream is busy, and not refused a thousand times", async () => {
    const backend = await openBackend(() => undefined)
    const settings = {
      upstream: [],
      upstreams: { only: { targets: [`http://127.0.0.1:${backend.port}`], connections: 1, waiting: 1 } },
      clientShare: 1,
      deadlines: { connect: "10s" },
    }
    const gateway = await openGateway({ upstream: backend, settings })
    const first = await dial(gateway.port)
    first.write(ahead("/held"))
    await eventually(() => backend.seen.length === 1)
    const second = await dial(gateway.port)
    second.write(ahead("/waits"))
    const { statuses, isClosed } = await exchange(gateway.port, ahead("/").repeat(1_000), 1_000)
    expect([statuses, isClosed]).toEqual([[503], true])
  })

  it("gets the answer to the first before the error for the next", async () => {
    const backend = await openBackend(
      (_request, response) => void setTimeout(() => response.end("late"), 100),
    )
    const gateway = await openGateway({ upstream: backend })
    const { statuses, text, isClosed } = await exchange(gateway.port, `${ahead("/")}garbage\r\n\r\n`, 1_000)
    expect(statuses).toEqual([200, 400])
    expect(text).toContain("late")
    expect(isClosed).toBe(true)
  })
})

describe("data after a refused request", () => {
  const manyHeaders = Array.from({ length: 200 }, (_, i) => `x-${i}: y\r\n`).join("")

  it.each([
    ["two Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"],
    ["no Host", "GET / HTTP/1.1\r\nX: y\r\n\r\n"],
    [
      "chunks in HTTP/1.0",
      "POST / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ["a length of 16 digits", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0000000000000000\r\n\r\n"],
    ["a blank behind the length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\t\r\n\r\nabcde"],
    ["a Host that is none", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"],
    [
      "an encoding that is unknown",
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    ],
    ["too many headers", `GET / HTTP/1.1\r\nHost: a\r\n${manyHeaders}\r\n`],
  ])("is never forwarded, and the connection is closed: %s", async (_, refused) => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend })
    // A connection to the upstream is already open, so that any forwarded byte would arrive.
    await (await fetch(gateway.url)).text()
    const { statuses, isClosed, text } = await exchange(gateway.port, refused + ADMIN.repeat(3), 1_000)
    expect(statuses, text).toHaveLength(1)
    expect([400, 431, 501]).toContain(statuses[0])
    expect(isClosed).toBe(true)
    expect(backend.seen).toEqual(["GET /"])
  })

  it("is never forwarded when it arrives in another packet", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend })
    const socket = await dial(gateway.port)
    socket.resume().write("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
    socket.once("data", () => socket.write(ADMIN))
    await eventually(() => socket.destroyed)
    expect(backend.seen).toEqual([])
  })
})

describe("a client that offers cleartext HTTP/2", () => {
  const upgrade =
    "Connection: Upgrade, HTTP2-Settings, X-Secret\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n"

  it("cannot hide the length of a body behind other headers", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend, limits: { headerBytes: 65_536 } })
    const headers = Array.from({ length: 2_000 }, (_, i) => `x-${i}: y\r\n`).join("")
    const head = `POST / HTTP/1.1\r\nHost: a\r\n${upgrade}${headers}Content-Length: ${ADMIN.length}\r\n\r\n`
    const { statuses, isClosed } = await exchange(gateway.port, head + ADMIN, 1_000)
    expect(statuses).toEqual([431])
    expect(isClosed).toBe(true)
    expect(backend.seen).toEqual([])
  })

  it("keeps its other connection options", async () => {
    let headers: NodeJS.Dict<string | string[]> = {}
    const backend = await openBackend((request, response) => {
      ;({ headers } = request)
      request.resume().on("end", () => response.end())
    })
    const gateway = await openGateway({ upstream: backend })
    const head = `POST / HTTP/1.1\r\nHost: a\r\n${upgrade}X-Secret: 1\r\nX-Open: 2\r\nContent-Length: 3\r\n\r\n`
    const first = await exchange(gateway.port, `${head}abc${ahead("/next")}`)
    expect(first.statuses).toEqual([200, 200])
    expect(backend.seen).toEqual(["POST /", "GET /next"])
    const closing = await exchange(gateway.port, `${head.replace("X-Secret", "close, X-Secret")}abc`)
    expect(closing.isClosed).toBe(true)
    expect(headers).toMatchObject({ "x-open": "2", "content-length": "3" })
    expect(headers["x-secret"]).toBeUndefined()
  })
})

describe("unusual headers of a client", () => {
  const rules =
    "version: 1\nrules: [{ id: once, limits: [{ limit: 1, window: 1h, algorithm: fixed-window }] }]"

  it("with an unknown expectation do not evade a limit", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend, rules })
    const expecting = "GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\n\r\n"
    expect((await exchange(gateway.port, expecting)).statuses).toEqual([417])
    expect((await exchange(gateway.port, expecting)).statuses).toEqual([429])
    expect(backend.seen).toEqual([])
  })

  it.each(["X-HTTP-Method-Override", "x_http_method", "X-Method-Override"])(
    "do not change the method: %s is forwarded only if the route allows it",
    async (name) => {
      const seen: unknown[] = []
      const backend = await openBackend((request, response) => {
        seen.push(request.headers[name.toLowerCase()])
        response.end()
      })
      const closed = await openGateway({ upstream: backend })
      const route = { upstream: "default", methodOverride: true }
      const open = await openGateway({ upstream: backend, settings: { routes: [route] } })
      for (const { url } of [closed, open]) await (await fetch(url, { headers: { [name]: "DELETE" } })).text()
      expect(seen).toEqual([undefined, "DELETE"])
    },
  )
})
