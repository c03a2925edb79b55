import { once } from "node:events"
import { type IncomingMessage, request } from "node:http"
import { connect, type Socket } from "node:net"
import { text } from "node:stream/consumers"
import { describe, expect, it, onTestFinished } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { type TestCore, testCore, waitingStore } from "../core.test-support.js"
import { LOOPBACK, startGateway, startUpstream } from "./front/gateway.test-support.js"
import { createLimiting } from "./front/limiting.js"

const rules = (limits: string, more = "") => `
version: 1
rules:
  - id: all
    keyBy: global
    limits: [${limits}]
    ${more}
`

const TWO = rules("{ algorithm: token-bucket, limit: 2, window: 1m }")

async function start(
  core: TestCore,
  handler: Parameters<typeof startUpstream>[0] = (_, response) => response.end("ok"),
  maxHeld?: number,
) {
  const upstream = await startUpstream(handler)
  onTestFinished(() => core.close())
  const limiting = createLimiting(core, { clock: core.clock, maxHeld })
  return { core, limiting, upstream, ...(await startGateway(upstream.origin, { limiting })) }
}

const answered = async (call: ReturnType<typeof request>) => {
  const [answer] = (await once(call, "response")) as [IncomingMessage]
  return { answer, body: await text(answer) }
}

const drained = (client: Socket) => new Promise((resolve) => client.once("drain", resolve))
const closed = (client: Socket) => new Promise((resolve) => client.once("close", resolve))

describe("a concurrency limit", () => {
  const ONE_AT_ONCE = rules("{ algorithm: concurrency, limit: 1, hold: 1h }")

  it("holds a place until the answer is out", async () => {
    let finish = () => {}
    const { url, upstream } = await start(testCore(ONE_AT_ONCE), (_, response) => {
      finish = () => response.end("ok")
    })
    const first = fetch(url)
    await eventually(() => upstream.requests.length === 1)
    const denied = await fetch(url)
    expect(denied.status).toBe(429)
    expect(denied.headers.get("ratelimit-policy")).toBe('"all";q=1;qu="concurrent-requests"')
    finish()
    expect((await first).status).toBe(200)
    const next = fetch(url)
    await eventually(() => upstream.requests.length === 2)
    finish()
    expect((await next).status).toBe(200)
  })

  it("frees the place of a client that has gone", async () => {
    const { url, upstream, core } = await start(testCore(ONE_AT_ONCE), () => {})
    const controller = new AbortController()
    const gone = fetch(url, { signal: controller.signal }).catch(() => "gone")
    await eventually(() => upstream.requests.length === 1)
    controller.abort()
    expect(await gone).toBe("gone")
    await eventually(async () => (await core.engine.checkKey("all", "global", { cost: 0 })).remaining === 1)
  })

  it("frees the place of a client that has gone before the store has answered", async () => {
    const inner = waitingStore()
    let answer: (() => void) | undefined
    const released: string[] = []
    const store: typeof inner = {
      ...inner,
      async check(...args) {
        if (answer === undefined) await new Promise<void>((resolve) => (answer = resolve))
        return await inner.check(...args)
      },
      async release(charges, at) {
        released.push(...charges.map(({ key }) => key))
        return (await inner.release?.(charges, at)) ?? false
      },
    }
    const { url, core, ended } = await start(testCore(ONE_AT_ONCE, { store }), () => {})
    const controller = new AbortController()
    const gone = fetch(url, { signal: controller.signal }).catch(() => "gone")
    await eventually(() => answer !== undefined)
    controller.abort()
    expect(await gone).toBe("gone")
    await eventually(() => ended.length === 1)
    answer?.()
    const charged = await eventually(() => core.decided[0])
    expect(charged.decision).toMatchObject({ allowed: true, remaining: 0 })
    expect(await eventually(() => released[0])).toBe("global")
  })
})

describe("a denied request", () => {
  it("is answered by the rule, and never reaches the upstream", async () => {
    const { url, upstream, ended, targets } = await start(testCore(TWO))
    for (let i = 0; i < 2; i++) expect((await fetch(url)).status).toBe(200)
    const answer = await fetch(url)
    expect(answer.status).toBe(429)
    expect(answer.headers.get("retry-after")).toBe("30")
    expect(answer.headers.get("x-ratelimit-remaining")).toBe("0")
    expect(await answer.json()).toMatchObject({ status: 429, rule: "all" })
    expect(upstream.requests).toHaveLength(2)
    expect(targets[0]?.outcomes).toHaveLength(2)
    const event = await eventually(() => ended[2])
    expect(event).toMatchObject({ status: 429, target: undefined, clientIp: "127.0.0.1" })
    expect(event.decision?.allowed).toBe(false)
  })

  it("is answered before its body arrives, and the connection closes without reading it", async () => {
    const { port } = await start(
      testCore(rules("{ algorithm: fixed-window, limit: 1, window: 1m }", "cost: 2")),
    )
    const client = connect(port, LOOPBACK)
    client.on("error", () => undefined)
    let answer = ""
    client.on("data", (bytes) => {
      answer += bytes
    })
    client.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000000000\r\n\r\n")
    await eventually(() => answer.includes("\r\n\r\n{"))
    expect(answer).toMatch(/^HTTP\/1.1 429 /)
    expect(answer).toMatch(/\r\nconnection: close\r\n/i)
    // It goes on all the same: so much is not read to its end.
    let sent = 0
    for (; sent < 512 && !client.destroyed; sent++) {
      if (!client.write(Buffer.alloc(1 << 20))) await Promise.race([drained(client), closed(client)])
    }
    expect(sent).toBeLessThan(64)
  })

  it("gets no 100 Continue", async () => {
    const { url, upstream } = await start(
      testCore(rules("{ algorithm: fixed-window, limit: 1, window: 1m }", "cost: 2")),
    )
    const call = request(url, { method: "PUT", headers: { expect: "100-continue", "content-length": 5 } })
    let isContinued = false
    call.on("continue", () => {
      isContinued = true
    })
    call.flushHeaders()
    const { answer } = await answered(call)
    expect(answer.statusCode).toBe(429)
    expect(isContinued).toBe(false)
    expect(upstream.requests).toHaveLength(0)
    call.destroy()
  })

  it("keeps its connection if it had no body, or a short one", async () => {
    const { port } = await start(
      testCore(rules("{ algorithm: fixed-window, limit: 1, window: 1m }", "cost: 2")),
    )
    const client = connect(port, LOOPBACK)
    onTestFinished(() => void client.destroy())
    let answer = ""
    client.on("data", (bytes) => {
      answer += bytes
    })
    const post = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello"
    for (let i = 1; i <= 3; i++) {
      client.write(i === 2 ? "GET / HTTP/1.1\r\nhost: a\r\n\r\n" : post)
      await eventually(() => answer.split("HTTP/1.1 429").length === i + 1)
    }
    expect(client.destroyed).toBe(false)
  })
})

describe("an admitted request", () => {
  it.each(["memory", "a store that is waited for"])(
    "shows its limits on the answer instead of the upstream's: %s",
    async (store) => {
      const core = testCore(TWO, store === "memory" ? {} : { store: waitingStore() })
      const { url } = await start(core, (_request, response) => {
        response.setHeader("X-RateLimit-Limit", "1000000")
        response.end("ok")
      })
      const answer = await fetch(url)
      expect(answer.headers.get("x-ratelimit-limit")).toBe("2")
      expect(answer.headers.get("x-ratelimit-remaining")).toBe("1")
      expect(await answer.text()).toBe("ok")
    },
  )

  it("shows its limits on an answer that the gateway makes itself", async () => {
    const { url } = await start(testCore(TWO), (_request, response) => response.destroy())
    const answer = await fetch(url)
    expect(answer.status).toBe(502)
    expect(answer.headers.get("x-ratelimit-remaining")).toBe("1")
  })

  it("is held until its turn, then forwarded", async () => {
    const queue = rules("{ algorithm: leaky-bucket, overflow: queue, limit: 1, window: 1s, burst: 3 }")
    const { url, upstream, core, limiting, ended } = await start(testCore(queue))
    expect((await fetch(url)).status).toBe(200)
    const second = fetch(url, { method: "POST", body: "held" })
    await eventually(() => limiting.held === 1)
    expect(upstream.requests).toHaveLength(1)
    core.clock.advance(1_000)
    expect((await second).status).toBe(200)
    expect((await eventually(() => ended[1])).queuedMs).toBeGreaterThan(0)
  })

  it("is not forwarded, and frees its place, when its client leaves while it is delayed", async () => {
    const queue = rules("{ algorithm: leaky-bucket, overflow: queue, limit: 1, window: 1s, burst: 2 }")
    const { url, upstream, core, limiting, ended } = await start(testCore(queue))
    await fetch(url)
    const call = request(url).end()
    call.on("error", () => undefined)
    await eventually(() => limiting.held === 1)
    call.destroy()
    await eventually(() => limiting.held === 0 && ended.length === 2)
    expect(ended[1]).toMatchObject({ status: 499, target: undefined })
    // Its place is free: the next one is in front.
    const next = fetch(url)
    await eventually(() => limiting.held === 1)
    core.clock.advance(1_000)
    expect((await next).status).toBe(200)
    expect(upstream.requests).toHaveLength(2)
  })

  it("is denied when the queue is full, and the observers see a denial", async () => {
    const queue = rules("{ algorithm: leaky-bucket, overflow: queue, limit: 1, window: 1s, burst: 3 }")
    const { url, core } = await start(testCore(queue), undefined, 0)
    expect((await fetch(url)).status).toBe(200)
    expect((await fetch(url)).status).toBe(429)
    expect(core.decided.map(({ decision }) => decision.allowed)).toEqual([true, false])
    await eventually(async () => (await core.engine.peek({})).remaining === 2)
  })

  it("is refunded by the status of its answer, also of an answer that the gateway made", async () => {
    const { url } = await start(
      testCore(rules("{ algorithm: token-bucket, limit: 2, window: 1m }", "refundOn: [404, 5xx]")),
      (request, response) => {
        if (request.url === "/broken") response.destroy()
        else response.writeHead(request.url === "/missing" ? 404 : 200).end()
      },
    )
    for (let i = 0; i < 5; i++) expect((await fetch(`${url}/missing`)).status).toBe(404)
    for (let i = 0; i < 5; i++) expect((await fetch(`${url}/broken`)).status).toBe(502)
    const status = async () => (await fetch(url)).status
    expect([await status(), await status(), await status()]).toEqual([200, 200, 429])
  })

  it("stays charged when its client leaves before the answer, because the upstream may have done the work", async () => {
    const { url, upstream, ended } = await start(
      testCore(rules("{ algorithm: token-bucket, limit: 2, window: 1m }", "refundOn: [4xx, 5xx]")),
      (request, response) => {
        if (request.url !== "/never") response.end()
      },
    )
    const call = request(`${url}/never`).end()
    call.on("error", () => undefined)
    await eventually(() => upstream.requests.length === 1)
    call.destroy()
    await eventually(() => ended.length === 1)
    expect((await fetch(url)).headers.get("x-ratelimit-remaining")).toBe("0")
  })

  it("is charged the cost in its answer", async () => {
    const cost = "cost: { responseHeader: x-tokens, estimate: 1 }"
    const { url } = await start(
      testCore(rules("{ algorithm: token-bucket, limit: 10, window: 1m }", cost)),
      (_request, response) => {
        response.setHeader("X-Tokens", "7")
        response.end()
      },
    )
    const remaining = async () => Number((await fetch(url)).headers.get("x-ratelimit-remaining"))
    expect(await remaining()).toBe(9)
    expect(await remaining()).toBe(2)
  })
})
