import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"
import { gzipSync } from "node:zlib"
import { describe, expect, it, onTestFinished } from "vitest"
import { eventually } from "../../../../test/support/eventually.js"
import { answers } from "../../../../test/support/model-answers.js"
import { createLimiter } from "../limiter/limiter.js"
import { ManualClock } from "../testing/manual-clock.js"
import { type LimitFetchOptions, limitFetch } from "./limit-fetch.js"

async function start(cost: LimitFetchOptions["cost"], handler: RequestListener) {
  const server = createServer(handler).listen(0, "127.0.0.1")
  await once(server, "listening")
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const clock = new ManualClock()
  const limiter = createLimiter({ algorithm: "sliding-window-log", limit: 1_000, window: "1h", clock })
  const call = limitFetch(fetch, limiter, { key: "api", clock, ...(cost === undefined ? {} : { cost }) })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const used = async () => (await limiter.peek("api")).used
  return { url, call, used, limiter }
}

const answering =
  (type: string, body: string | Buffer, headers = {}): RequestListener =>
  (_, response) =>
    void response.writeHead(200, { "content-type": type, ...headers }).end(body)

describe("limitFetch with a cost from bodies", () => {
  it.each(answers)("charges the usage of $name", async ({ contentType, body, usage }) => {
    const responseJson = Object.fromEntries(Object.keys(usage).map((field) => [field, 1]))
    const { call, url, used } = await start({ responseJson, estimate: 600 }, answering(contentType, body))
    const response = await call(url)
    expect(await used()).toBe(600)
    expect([response.status, response.url, response.type]).toEqual([200, url, "basic"])
    expect(await response.text()).toBe(body)
    const total = Object.values(usage).reduce((sum, value) => sum + value, 0)
    await eventually(async () => (await used()) === total)
  })

  it("takes the estimate and the factor of the model from the body of the call", async () => {
    const cost = { estimate: { json: "max_tokens" }, models: { large: 3 }, responseJson: "usage.t" }
    const { call, url, used } = await start(
      cost,
      answering("application/json", gzipSync('{"usage":{"t":11}}'), { "content-encoding": "gzip" }),
    )
    const response = await call(url, { method: "POST", body: '{"model":"large","max_tokens":100}' })
    expect(await used()).toBe(300)
    expect(await response.json()).toEqual({ usage: { t: 11 } })
    await eventually(async () => (await used()) === 33)
  })

  it("charges more than the estimate, even beyond the limit", async () => {
    const { call, url, used, limiter } = await start(
      { estimate: 10, responseJson: "usage.t" },
      answering("application/json", '{"usage":{"t":1500}}'),
    )
    await (await call(url)).text()
    await eventually(async () => (await used()) === 1_500)
    expect((await limiter.check("api")).allowed).toBe(false)
  })

  it("charges a caller that cancels the stream the larger of the usage and the estimate", async () => {
    const { call, url, used } = await start({ estimate: 50, responseJson: "usage.t" }, (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" })
      response.write('data: {"usage":{"t":80}}\n\n')
    })
    const response = await call(url)
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    await reader.read()
    await reader.cancel()
    await eventually(async () => (await used()) === 80)
  })

  it("keeps the estimate if the response does not tell", async () => {
    const { call, url, used } = await start(
      { estimate: 50, responseJson: "usage.t" },
      answering("text/html", "x"),
    )
    expect(await (await call(url)).text()).toBe("x")
    expect(await used()).toBe(50)
  })

  it.each([
    [{ responseJson: "a..b" }, "limitFetch.cost.responseJson"],
    [{ responseJson: { a: -1 } }, "limitFetch.cost.responseJson"],
    [{ estimate: 0 }, "limitFetch.cost.estimate"],
    [{ estimate: { json: 5 } }, "limitFetch.cost.estimate.json"],
    [{ estimate: { tokens: 5 } }, "limitFetch.cost.estimate"],
    [{ models: { a: "b" } }, "limitFetch.cost.models"],
    [{ tokens: 1 }, "limitFetch.cost"],
  ])("refuses %j", (cost, place) => {
    const limiter = createLimiter({ limit: 1, window: "1s" })
    onTestFinished(() => limiter.close())
    expect(() => limitFetch(fetch, limiter, { cost } as never)).toThrow(place)
  })
})
