// Rules that charge by bodies: estimates from requests, and the usage that answers report.

import { once } from "node:events"
import { type IncomingMessage, type RequestListener, request } from "node:http"
import { connect } from "node:net"
import { text } from "node:stream/consumers"
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib"
import { describe, expect, it, onTestFinished } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { answers } from "../../../../test/support/model-answers.js"
import { testCore } from "../core.test-support.js"
import { LOOPBACK, startGateway, startUpstream } from "./front/gateway.test-support.js"
import { createLimiting } from "./front/limiting.js"

async function start(cost: string, handler: RequestListener, more = "") {
  const core = testCore(`
version: 1
rules:
  - { id: all, keyBy: global, limits: [{ limit: 100000, window: 1h }], cost: ${cost} ${more} }
`)
  onTestFinished(() => core.close())
  const upstream = await startUpstream(handler)
  const gateway = await startGateway(upstream.origin, {
    limiting: createLimiting(core, { clock: core.clock }),
  })
  const used = async () => 100_000 - (await core.engine.checkKey("all", "global", { cost: 0 })).remaining
  const settledAt = (units: number) =>
    eventually(async () => (await used()) === units, { what: `${units} units` })
  return { ...gateway, core, upstream, used, settledAt }
}

const answering =
  (type: string, body: string | Buffer, headers: Record<string, string> = {}): RequestListener =>
  (_, response) => {
    response.writeHead(200, { "content-type": type, ...headers })
    response.end(body)
  }

const fieldsOf = (usage: object) =>
  JSON.stringify(Object.fromEntries(Object.keys(usage).map((field) => [field, 1])))

describe("cost.responseJson", () => {
  it.each(answers)("charges the usage of $name", async ({ contentType, body, usage }) => {
    const cost = `{ responseJson: ${fieldsOf(usage)}, estimate: 500 }`
    const { url, settledAt, used } = await start(cost, answering(contentType, body))
    expect(await (await fetch(url)).text()).toBe(body)
    const total = Object.values(usage).reduce((sum, value) => sum + value, 0)
    await settledAt(total)
    expect(await used()).toBe(total)
  })

  it.each([
    ["gzip", gzipSync],
    ["br", brotliCompressSync],
    ["deflate", deflateSync],
  ] as const)(
    "reads an answer that is compressed with %s, and passes it on unchanged",
    async (encoding, compress) => {
      const body = `{"text":"${"x".repeat(100_000)}","usage":{"total_tokens":77}}`
      const { url, settledAt } = await start(
        "{ responseJson: usage.total_tokens, estimate: 500 }",
        answering("application/json", compress(body), { "content-encoding": encoding }),
      )
      const answer = await fetch(url)
      expect(answer.headers.get("content-encoding")).toBe(encoding)
      expect(await answer.text()).toBe(body)
      await settledAt(77)
    },
  )

  it.each([
    [
      "in an encoding that the gateway does not know",
      "application/json",
      '{"usage":{"t":1}}',
      { "content-encoding": "zstd" },
    ],
    [
      "that is not what its encoding says",
      "application/json",
      '{"usage":{"t":1}}',
      { "content-encoding": "gzip" },
    ],
    ["of another type", "text/html", '{"usage":{"t":1}}', {}],
    ["that is malformed", "application/json", '{"usage":{"t":', {}],
    ["without the field", "application/json", "{}", {}],
  ])("keeps the estimate after an answer %s", async (_, type, body, headers) => {
    const { url, used, ended } = await start(
      "{ responseJson: usage.t, estimate: 500 }",
      answering(type, body, headers),
    )
    const socket = request(url).end()
    const [answer] = (await once(socket, "response")) as [IncomingMessage]
    expect(await text(answer)).toBe(body)
    await eventually(() => ended.length === 1)
    expect(await used()).toBe(500)
  })

  it("does not hold a stream back, and charges when it ends", async () => {
    let send: (text: string) => void = () => {}
    let end: () => void = () => {}
    const { url, used, settledAt } = await start(
      "{ responseJson: usage.t, estimate: 500 }",
      (_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.flushHeaders()
        send = (data) => response.write(data)
        end = () => response.end()
      },
    )
    const reader = ((await fetch(url)).body as ReadableStream<Uint8Array>).getReader()
    const next = async () => Buffer.from((await reader.read()).value ?? []).toString()
    send('data: {"us')
    expect(await next()).toBe('data: {"us')
    send('age":{"t":9}}\n\n')
    expect(await next()).toBe('age":{"t":9}}\n\n')
    expect(await used()).toBe(500)
    end()
    expect((await reader.read()).done).toBe(true)
    await settledAt(9)
  })

  it.each([
    [40, 500],
    [900, 900],
  ])(
    "charges a client that disconnects in a stream the larger of its usage %i and the estimate",
    async (usage, charged) => {
      const { url, ended, settledAt } = await start(
        "{ responseJson: usage.t, estimate: 500 }",
        (_, response) => {
          response.writeHead(200, { "content-type": "text/event-stream" })
          response.write(`data: {"usage":{"t":${usage}}}\n\n`)
        },
      )
      const controller = new AbortController()
      const answer = await fetch(url, { signal: controller.signal })
      await (answer.body as ReadableStream<Uint8Array>).getReader().read()
      controller.abort()
      await eventually(() => ended.length === 1)
      await settledAt(charged)
    },
  )

  it("reads no more than 64 MiB of what a few kilobytes expand to", async () => {
    // 128 MiB: the usage is behind the bound.
    const bomb = gzipSync(Buffer.concat([Buffer.alloc(128 << 20, " "), Buffer.from('{"usage":{"t":1}}')]))
    const { url, used, ended } = await start(
      "{ responseJson: usage.t, estimate: 500 }",
      answering("application/json", bomb, { "content-encoding": "gzip" }),
    )
    const call = request(url).end()
    const [answer] = (await once(call, "response")) as [IncomingMessage]
    answer.resume()
    await once(answer, "end")
    await eventually(() => ended.length === 1)
    expect(await used()).toBe(500)
  })

  it("refunds by the status of an answer as well", async () => {
    const { url, settledAt } = await start(
      "{ responseJson: usage.t, estimate: 500 }",
      (_, response) => {
        response.writeHead(503, { "content-type": "application/json" }).end('{"usage":{"t":3}}')
      },
      ", refundOn: 5xx",
    )
    await (await fetch(url)).text()
    await settledAt(0)
  })
})

const echo: RequestListener = (asked, response) => {
  const pieces: Buffer[] = []
  asked.on("data", (bytes) => pieces.push(bytes))
  asked.on("end", () => {
    response.setHeader(
      "x-framing",
      asked.headers["transfer-encoding"] ?? asked.headers["content-length"] ?? "none",
    )
    response.setHeader("x-trailer", String(asked.trailers["x-end"]))
    response.end(Buffer.concat(pieces))
  })
}

describe("cost.estimate from the body", () => {
  const BY_TOKENS = "{ estimate: { json: max_tokens, default: 7 } }"
  const body = (length: number, tokens = 120) => `{"max_tokens":${tokens},"prompt":"${"é".repeat(length)}"}`

  it.each([
    ["that arrives with its head", 10],
    ["of several pieces", 200_000],
  ])("charges by a body %s, and forwards it unchanged", async (_, length) => {
    const { url, used } = await start(BY_TOKENS, echo)
    const answer = await fetch(url, { method: "POST", body: body(length) })
    expect(answer.headers.get("x-framing")).toBe(String(Buffer.byteLength(body(length))))
    expect(await answer.text()).toBe(body(length))
    expect(await used()).toBe(120)
  })

  it("charges by a chunked body, and forwards it with its trailers", async () => {
    const { url, used } = await start(BY_TOKENS, echo)
    const call = request(url, { method: "POST", headers: { trailer: "x-end" } })
    call.write('{"max_')
    call.write('tokens":5')
    call.addTrailers({ "x-end": "yes" })
    call.end('0,"x":1}')
    const [answer] = (await once(call, "response")) as [IncomingMessage]
    expect(await text(answer)).toBe('{"max_tokens":50,"x":1}')
    expect(answer.headers).toMatchObject({ "x-framing": "chunked", "x-trailer": "yes" })
    expect(await used()).toBe(50)
  })

  it("denies by the body, without a byte to the upstream, and the connection stays usable", async () => {
    const { url, used, upstream } = await start(BY_TOKENS, echo)
    const denied = await fetch(url, { method: "POST", body: body(60_000, 500_000) })
    expect(denied.status).toBe(429)
    expect(await denied.text()).toContain("more than")
    expect(upstream.requests).toHaveLength(0)
    expect((await fetch(url, { method: "POST", body: body(5) })).status).toBe(200)
    expect(await used()).toBe(120)
  })

  it("takes the default, and the length, of a body of more than 1 MiB, and forwards all of it", async () => {
    const { url, used } = await start(
      "{ estimate: { json: max_tokens, bytesPerUnit: 1000, default: 7 } }",
      echo,
    )
    const large = `{"prompt":"${"x".repeat(3_000_000)}","max_tokens":5}`
    const answer = await fetch(url, { method: "POST", body: large })
    expect((await answer.text()) === large).toBe(true)
    expect(await used()).toBe(7 + Math.ceil(large.length / 1000))
  })

  it("charges nothing to a client that disconnects before its body has arrived", async () => {
    const { port, used, ended, upstream } = await start(BY_TOKENS, echo)
    const socket = connect(port, LOOPBACK)
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n{"max_tok')
    await eventually(() => socket.bytesWritten > 0 && socket.writableLength === 0)
    await new Promise((resolve) => setImmediate(resolve))
    socket.destroy()
    await eventually(() => ended.length === 1)
    expect(upstream.requests).toHaveLength(0)
    expect(await used()).toBe(0)
  })

  it("does not wait for the body of a client that expects 100 Continue", async () => {
    const { url, used } = await start(BY_TOKENS, echo)
    const call = request(url, { method: "POST", headers: { expect: "100-continue", "content-length": 18 } })
    call.flushHeaders()
    await once(call, "continue")
    call.end('{"max_tokens":120}')
    const [answer] = (await once(call, "response")) as [IncomingMessage]
    expect(await text(answer)).toBe('{"max_tokens":120}')
    expect(await used()).toBe(7)
  })

  it("multiplies estimate and usage by the factor of the model in the body", async () => {
    const { url, settledAt } = await start(
      "{ responseJson: usage.t, estimate: { json: max_tokens }, models: { large: 10, small: 1 } }",
      answering("application/json", '{"usage":{"t":31}}'),
    )
    await (await fetch(url, { method: "POST", body: '{"model":"large","max_tokens":500}' })).text()
    await settledAt(310)
    await (await fetch(url, { method: "POST", body: '{"model":"small","max_tokens":500}' })).text()
    await settledAt(341)
  })
})
