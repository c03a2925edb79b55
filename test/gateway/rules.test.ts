// What rules do to requests on their way through the gateway.

import { once } from "node:events"
import { request as httpRequest, type IncomingMessage } from "node:http"
import { Redis } from "ioredis"
import { redisStore } from "sluice/redis"
import { describe, expect, it } from "vitest"
import { WebSocket, WebSocketServer } from "ws"
import { eventually } from "../support/eventually.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"
import { afterThis, dial, exchange, openBackend, openGateway } from "./bed.js"

const rule = (limits: string, more = "") => `version: 1\nrules: [{ id: api, limits: [${limits}] ${more} }]`
const times = (limit: number) => `{ limit: ${limit}, window: 1h, algorithm: fixed-window }`
const asked = { method: "GET", path: "/", ip: "127.0.0.1" }

describe("a denied request", () => {
  it("is answered 429 with a problem and retry-after, and never reaches the upstream", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend, rules: rule(times(1)) })
    expect((await fetch(gateway.url)).status).toBe(200)
    const denied = await fetch(gateway.url)
    expect(denied.status).toBe(429)
    expect(denied.headers.get("content-type")).toBe("application/problem+json")
    expect(Number(denied.headers.get("retry-after"))).toBeGreaterThan(0)
    expect(await denied.json()).toMatchObject({ status: 429, rule: "api", "violated-policies": ["api"] })
    expect(backend.seen).toEqual(["GET /"])
  })

  it("is answered as its rule says", async () => {
    const backend = await openBackend()
    const response = ", response: { status: 503, body: 'busy, {remaining} of {limit}' }"
    const gateway = await openGateway({ upstream: backend, rules: rule(times(1), response) })
    await fetch(gateway.url)
    const denied = await fetch(gateway.url)
    expect([denied.status, await denied.text()]).toEqual([503, "busy, 0 of 1"])
  })

  it("is answered before its body is read, without 100 Continue", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend, rules: rule(times(1)) })
    await fetch(gateway.url)
    const head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000\r\n"
    const waiting = await exchange(gateway.port, `${head}Expect: 100-continue\r\n\r\n`)
    expect(waiting.statuses).toEqual([429])
    // The bytes after such a head are its body, and not a request.
    const sending = await exchange(gateway.port, `${head}\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n`)
    expect(sending.statuses).toEqual([429])
    expect(sending.text.toLowerCase()).toContain("connection: close")
    expect(backend.seen).toEqual(["GET /"])
  })

  it("keeps its connection if nothing is left to read", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend, rules: rule(times(1)) })
    const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    const { statuses, isClosed } = await exchange(gateway.port, get + get + get)
    expect(statuses).toEqual([200, 429, 429])
    expect(isClosed).toBe(false)
  })
})

describe("an admitted request", () => {
  it("shows its limit on the answer instead of the upstream's own headers", async () => {
    const backend = await openBackend((_request, response) => {
      response.setHeader("X-RateLimit-Limit", "7").setHeader("X-Other", "kept").end()
    })
    const gateway = await openGateway({ upstream: backend, rules: rule(times(5)) })
    const { headers } = await fetch(gateway.url)
    expect(headers.get("x-ratelimit-limit")).toBe("5")
    expect(headers.get("x-ratelimit-remaining")).toBe("4")
    expect(headers.get("ratelimit")).toMatch(/^"api";r=4;t=\d+$/)
    expect(headers.get("x-other")).toBe("kept")
  })

  it("keeps the headers of the upstream if no rule applies", async () => {
    const backend = await openBackend((_request, response) => {
      response.setHeader("X-RateLimit-Limit", "7").end()
    })
    const gateway = await openGateway({ upstream: backend })
    expect((await fetch(gateway.url)).headers.get("x-ratelimit-limit")).toBe("7")
  })

  it("is limited by new rules at once", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend, rules: rule(times(1)) })
    expect((await fetch(gateway.url)).status).toBe(200)
    expect((await fetch(gateway.url)).status).toBe(429)
    const { document } = gateway.core.rules.current
    await gateway.core.rules.save({ ...document, rules: [] }, { by: "test" })
    expect((await fetch(gateway.url)).status).toBe(200)
  })
})

describe("a queueing limit", () => {
  const queue = (limit: string) => rule(`{ ${limit}, algorithm: leaky-bucket, overflow: queue }`)

  it("delays requests so that they reach the upstream one after the other", async () => {
    const arrivals: number[] = []
    const backend = await openBackend((_request, response) => {
      arrivals.push(performance.now())
      response.end()
    })
    // The clock of the bucket does not move, so nothing drains: four requests fit, and each waits for its turn in real time.
    const rules = queue("limit: 10, window: 1s, burst: 4")
    const gateway = await openGateway({ upstream: backend, rules, isTimeStopped: true })
    const asked = performance.now()
    const statuses = await Promise.all(
      Array.from({ length: 6 }, async () => (await fetch(gateway.url)).status),
    )
    expect(statuses.sort()).toEqual([200, 200, 200, 200, 429, 429])
    // Timers may fire a millisecond early, by the clock that this test reads.
    for (const [i, at] of arrivals.entries()) expect(at - asked).toBeGreaterThan(i * 100 - 2)
  })

  it("frees the place of a client that disconnects while it is delayed, and forwards nothing", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({ upstream: backend, rules: queue("limit: 2, window: 1h, burst: 2") })
    await fetch(gateway.url)
    const socket = await dial(gateway.port)
    socket.write("GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
    const left = async () => (await gateway.core.engine.peek(asked)).remaining
    await eventually(async () => (await left()) === 0)
    socket.destroy()
    await eventually(async () => (await left()) === 1)
    expect(backend.seen).toEqual(["GET /"])
  })

  it("denies requests when the queue is full", async () => {
    const backend = await openBackend()
    const gateway = await openGateway({
      upstream: backend,
      rules: queue("limit: 2, window: 1h, burst: 2"),
      settings: { held: 0 },
    })
    expect((await fetch(gateway.url)).status).toBe(200)
    expect((await fetch(gateway.url)).status).toBe(429)
    await eventually(async () => (await gateway.core.engine.peek(asked)).remaining === 1)
  })
})

describe("charges by the answer", () => {
  const left = async (gateway: Awaited<ReturnType<typeof openGateway>>) =>
    (await gateway.core.engine.peek(asked)).remaining

  it("refunds a request by the status of the upstream's answer", async () => {
    const backend = await openBackend((request, response) => {
      response.statusCode = Number(request.url?.slice(1)) || 200
      response.end()
    })
    const gateway = await openGateway({ upstream: backend, rules: rule(times(5), ", refundOn: [5xx, 404]") })
    for (const path of ["/500", "/503", "/404"]) await fetch(gateway.url + path)
    await eventually(async () => (await left(gateway)) === 5)
    for (const path of ["/200", "/403"]) await fetch(gateway.url + path)
    expect(await left(gateway)).toBe(3)
  })

  it("refunds a request that no upstream answered", async () => {
    const backend = await openBackend((request) => request.socket.destroy())
    const gateway = await openGateway({ upstream: backend, rules: rule(times(5), ", refundOn: 5xx") })
    expect((await fetch(gateway.url, { method: "POST" })).status).toBe(502)
    await eventually(async () => (await left(gateway)) === 5)
  })

  it("takes the cost from a header of the answer", async () => {
    const backend = await openBackend((request, response) => {
      response.setHeader("X-Tokens-Used", request.url?.slice(1) ?? "").end("words")
    })
    const cost = ", cost: { responseHeader: x-tokens-used, estimate: 100 }"
    const gateway = await openGateway({ upstream: backend, rules: rule(times(1000), cost) })
    expect((await fetch(`${gateway.url}/30`)).headers.get("x-ratelimit-remaining")).toBe("900")
    await eventually(async () => (await left(gateway)) === 970)
    await fetch(`${gateway.url}/500`)
    await eventually(async () => (await left(gateway)) === 470)
    await fetch(`${gateway.url}/9999`)
    await eventually(async () => (await left(gateway)) === 0)
    expect((await fetch(`${gateway.url}/1`)).status).toBe(429)
  })

  it("takes the cost from a trailer of an answer that was streamed", async () => {
    const backend = await openBackend((_request, response) => {
      response.writeHead(200, { trailer: "x-tokens-used" })
      response.write("one ")
      response.addTrailers({ "x-tokens-used": "42" })
      response.end("two")
    })
    const cost = ", cost: { responseHeader: x-tokens-used, estimate: 100 }"
    const gateway = await openGateway({ upstream: backend, rules: rule(times(1000), cost) })
    const call = httpRequest(gateway.url, { headers: { te: "trailers" } }).end()
    const [response] = (await once(call, "response")) as [IncomingMessage]
    for await (const _ of response);
    await eventually(async () => (await left(gateway)) === 958)
  })

  it("keeps the charge of a client that disconnected before the answer", async () => {
    const backend = await openBackend(() => undefined)
    const gateway = await openGateway({ upstream: backend, rules: rule(times(5), ", refundOn: [4xx, 5xx]") })
    const socket = await dial(gateway.port)
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    await eventually(() => backend.seen.length === 1)
    socket.destroy()
    await eventually(
      () => new Promise((resolve) => backend.server.getConnections((_, count) => resolve(count === 0))),
    )
    expect(await left(gateway)).toBe(4)
  })
})

describe("upgrades", () => {
  it("are limited like requests, and count in the same limit", async () => {
    const backend = await openBackend()
    const sockets = new WebSocketServer({ server: backend.server })
    afterThis(() => sockets.close())
    sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(`echo ${data}`)))
    const gateway = await openGateway({ upstream: backend, rules: rule(times(2)) })
    await fetch(gateway.url)
    const open = new WebSocket(gateway.url.replace("http", "ws"))
    afterThis(() => open.terminate())
    await once(open, "open")
    open.send("hello")
    expect(String((await once(open, "message"))[0])).toBe("echo hello")
    const denied = new WebSocket(gateway.url.replace("http", "ws"))
    const [error] = (await once(denied, "error")) as [Error]
    expect(error.message).toContain("429")
    expect(sockets.clients.size).toBe(1)
  })
})

describe("on Redis", () => {
  async function openStore(server: RedisServer) {
    const client = new Redis(server.url)
    // Generous, because Redis answers late on a busy machine, and this test needs its decisions.
    const store = redisStore(client, { deadline: "10s" })
    afterThis(async () => {
      await store.close()
      client.disconnect()
    })
    return store
  }

  async function openServer(): Promise<RedisServer> {
    const server = await startRedis()
    afterThis(() => server.stop())
    return server
  }

  it("two gateways share counters and refunds", async () => {
    const server = await openServer()
    const backend = await openBackend((request, response) => {
      response.statusCode = request.url === "/fails" ? 500 : 200
      response.setHeader("x-cost", "3").end()
    })
    const rules = rule(times(10), ", refundOn: 5xx, cost: { responseHeader: x-cost, estimate: 1 }")
    const one = await openGateway({ upstream: backend, rules, store: await openStore(server) })
    const other = await openGateway({ upstream: backend, rules, store: await openStore(server) })
    const left = async () => (await other.core.engine.peek(asked)).remaining
    await fetch(one.url)
    await eventually(async () => (await left()) === 7)
    await fetch(other.url)
    await eventually(async () => (await left()) === 4)
    await fetch(`${one.url}/fails`)
    await eventually(async () => (await left()) === 4)
    await fetch(one.url)
    await eventually(async () => (await left()) === 1)
    await fetch(other.url)
    await eventually(async () => (await left()) === 0)
    expect((await fetch(one.url)).status).toBe(429)
  })

  it("an unreachable store causes a degraded decision in time, and not a failure", async () => {
    const server = await openServer()
    const backend = await openBackend()
    const client = new Redis(server.url, { maxRetriesPerRequest: 0, enableOfflineQueue: false })
    client.on("error", () => undefined)
    const store = redisStore(client, { deadline: 100 })
    afterThis(async () => {
      await store.close()
      client.disconnect()
    })
    const gateway = await openGateway({ upstream: backend, store, rules: rule(times(100)) })
    expect((await fetch(gateway.url)).status).toBe(200)
    await server.pause()
    try {
      const started = performance.now()
      expect((await fetch(gateway.url)).status).toBe(200)
      expect(performance.now() - started).toBeLessThan(5_000)
    } finally {
      server.resume()
    }
  })
})
