import { describe, expect, it } from "vitest"
import { eventually } from "../support/eventually.js"
import { dial, exchange, openBackend, openGateway } from "./bed.js"
import { misdirected, smuggled } from "./smuggling.js"

describe("a request that can be read in two ways", () => {
  it.each(smuggled)(
    "is answered once, with a refusal, and the connection closed: $name",
    async ({ bytes }) => {
      const backend = await openBackend((request, response) => {
        request.resume().on("end", () => response.end("from the backend"))
      })
      const gateway = await openGateway({ upstream: backend })
      const { statuses, isClosed, text } = await exchange(gateway.port, bytes)
      expect(statuses, text).toHaveLength(1)
      // RFC 9112 requires 501 for an unknown encoding, and 505 for an unknown version.
      expect([400, 501, 505]).toContain(statuses[0])
      expect(isClosed).toBe(true)
      expect(backend.seen.filter((target) => target.includes("smuggled"))).toEqual([])
    },
  )

  it.each(misdirected)("is refused, and never forwarded: $name", async ({ bytes }) => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend })
    const { statuses, text } = await exchange(gateway.port, bytes, 100)
    expect(statuses, text).toHaveLength(1)
    expect([400, 505]).toContain(statuses[0])
    expect(backend.seen).toEqual([])
  })

  it("is refused in the same way when it comes byte by byte", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend })
    const { bytes } = smuggled.find(({ name }) => name === "CL.TE") as { bytes: string }
    const socket = await dial(gateway.port)
    let answer = ""
    socket.on("data", (chunk) => {
      answer += chunk
    })
    for (const byte of bytes) {
      if (socket.destroyed) break
      await new Promise((resolve) => socket.write(byte, resolve))
    }
    await eventually(() => socket.destroyed)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(backend.seen).toEqual([])
  })

  it("does not break the requests of others in progress", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend })
    const attacks = [...smuggled, ...misdirected].map(({ bytes }) => exchange(gateway.port, bytes, 100))
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        const response = await fetch(`${gateway.url}/good/${i}`)
        return [response.status, await response.text()]
      }),
    )
    await Promise.all(attacks)
    expect(answers).toEqual(Array.from({ length: 20 }, () => [200, "from the backend"]))
  })
})

describe("tunnels", () => {
  it("are not opened by CONNECT", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend })
    const target = `127.0.0.1:${backend.port}`
    const { statuses, isClosed } = await exchange(
      gateway.port,
      `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n`,
    )
    expect(statuses).toHaveLength(1)
    expect(statuses[0]).toBeGreaterThanOrEqual(400)
    expect(isClosed).toBe(true)
    expect(backend.seen).toEqual([])
  })
})

describe("what is forwarded", () => {
  it("has one length, whatever else the client sent", async () => {
    const heads: string[][] = []
    const backend = await openBackend((request, response) => {
      heads.push(request.rawHeaders.filter((_, i) => i % 2 === 0).map((name) => name.toLowerCase()))
      request.resume().on("end", () => response.end())
    })
    const gateway = await openGateway({ upstream: backend })
    await exchange(gateway.port, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc")
    await exchange(
      gateway.port,
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\n\r\n",
    )
    await exchange(gateway.port, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    const framing = heads.map((names) =>
      names.filter((name) => ["content-length", "transfer-encoding"].includes(name)),
    )
    expect(framing).toEqual([["content-length"], ["transfer-encoding"], []])
  })

  it("has no header that Connection names, and no hop-by-hop header", async () => {
    let headers: NodeJS.Dict<string | string[]> = {}
    const backend = await openBackend((request, response) => {
      ;({ headers } = request)
      response.setHeader("connection", "x-internal")
      response.setHeader("x-internal", "secret").setHeader("proxy-authenticate", "Basic").end()
    })
    const gateway = await openGateway({ upstream: backend })
    const { text } = await exchange(
      gateway.port,
      [
        "GET / HTTP/1.1",
        "Host: a",
        "Connection: keep-alive, X-Secret, Authorization-Hint",
        "X-Secret: 1",
        "Authorization-Hint: 2",
        "Keep-Alive: timeout=5",
        "Proxy-Authorization: Basic x",
        "Proxy-Connection: keep-alive",
        "TE: gzip",
        "Upgrade-Insecure-Requests: 1",
        "",
        "",
      ].join("\r\n"),
    )
    expect(text).toContain("HTTP/1.1 200")
    expect(headers).toMatchObject({ "upgrade-insecure-requests": "1" })
    for (const name of [
      "x-secret",
      "authorization-hint",
      "keep-alive",
      "proxy-authorization",
      "proxy-connection",
    ])
      expect(headers[name], name).toBeUndefined()
    expect(headers.te ?? "").not.toContain("gzip")
    expect(text.toLowerCase()).not.toContain("x-internal")
  })

  it("keeps headers that a client must not be able to remove by naming them in Connection", async () => {
    let headers: NodeJS.Dict<string | string[]> = {}
    const backend = await openBackend((request, response) => {
      ;({ headers } = request)
      response.end()
    })
    const gateway = await openGateway({ upstream: backend })
    await exchange(
      gateway.port,
      "GET / HTTP/1.1\r\nHost: a\r\nConnection: X-Forwarded-For, Host, Content-Length\r\n\r\n",
    )
    expect(headers.host).toBeDefined()
    expect(headers["x-forwarded-for"]).toBe("127.0.0.1")
  })
})
