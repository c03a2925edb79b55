import type { IncomingMessage } from "node:http"
import { connect, createServer } from "node:http2"
import type { AddressInfo } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { listenOnLoopback } from "../../outgoing/loopback.test-support.js"
import { type AdapterCase, describeAdapter, type RunningApp } from "../suite/adapter-suite.test-support.js"
import { type LimitedRequest, rateLimit, withRateLimit, withUpgradeLimit } from "./node.js"

const start: AdapterCase["start"] = (limits, handler) => {
  const middlewares = limits.map((options) => rateLimit(options))
  return listenOnLoopback((request, response) => {
    const fail = (): void => {
      response.statusCode = 500
      response.end()
    }
    const step = (at: number): void => {
      const middleware = middlewares[at]
      if (middleware !== undefined) {
        middleware(request, response, (error) => (error === undefined ? step(at + 1) : fail()))
        return
      }
      const { rateLimit } = request as LimitedRequest
      Promise.resolve()
        .then(() => handler(request.url ?? "", rateLimit, request))
        .then(({ status, body }) => {
          response.statusCode = status
          response.end(body)
        }, fail)
    }
    step(0)
  })
}
describeAdapter({ name: "node:http", start })

describe("withRateLimit", () => {
  const apps: RunningApp[] = []
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close()
  })

  const once = { limit: 1, window: "1h", algorithm: "sliding-window-log" } as const
  async function serve(...args: Parameters<typeof withRateLimit>): Promise<string> {
    const app = await listenOnLoopback(withRateLimit(...args))
    apps.push(app)
    return app.url
  }

  it("calls the handler for an allowed request, with the decision on the request", async () => {
    const url = await serve((request, response) => response.end(String(request.rateLimit?.remaining)), once)
    expect(await (await fetch(url)).text()).toBe("0")
    expect((await fetch(url)).status).toBe(429)
  })

  it("responds 500 and calls onError when a function of the options throws", async () => {
    const errors: unknown[] = []
    const url = await serve((_request, response) => response.end(), {
      ...once,
      key: async () => {
        throw new Error("no key")
      },
      onError: (error: unknown, request: IncomingMessage) => errors.push([error, request.url]),
    })
    const failed = await fetch(`${url}/x`)
    expect(failed.status).toBe(500)
    expect(failed.headers.get("content-type")).toBe("application/problem+json")
    expect(errors).toEqual([[new Error("no key"), "/x"]])
  })

  it("emits a warning for such an error without onError", async () => {
    const warned = new Promise<Error>((resolve) => process.once("warning", resolve))
    const url = await serve((_request, response) => response.end(), {
      ...once,
      cost: () => {
        throw new Error("no cost, on purpose")
      },
    })
    expect((await fetch(url)).status).toBe(500)
    expect((await warned).message).toBe("no cost, on purpose")
  })

  it("serves HTTP/2 through the compatibility API", async () => {
    const handler = withRateLimit((request, response) => response.end(String(request.rateLimit?.remaining)), {
      ...once,
      keyBy: "host",
    })
    const server = createServer(handler as unknown as Parameters<typeof createServer>[0]).listen(
      0,
      "127.0.0.1",
    )
    await new Promise((resolve) => server.once("listening", resolve))
    const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    apps.push({
      url: "",
      async close() {
        session.destroy()
        await new Promise((resolve) => server.close(resolve))
      },
    })
    const statusOf = (authority: string): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const stream = session.request({ ":path": "/", ":authority": authority })
        stream.once("response", (headers) => resolve(headers[":status"]))
        stream.once("error", reject)
        stream.resume()
      })
    expect(await statusOf("a.example")).toBe(200)
    expect(await statusOf("b.example")).toBe(200)
    expect(await statusOf("a.example")).toBe(429)
  })

  it("sends the headers of a denied HEAD request without a body", async () => {
    const url = await serve((_request, response) => response.end(), once)
    await fetch(url)
    const denied = await fetch(url, { method: "HEAD" })
    expect(denied.status).toBe(429)
    expect(Number(denied.headers.get("content-length"))).toBeGreaterThan(0)
    expect(await denied.text()).toBe("")
  })
})

describe("invalid options", () => {
  const nothing = undefined as never
  it.each([
    [() => rateLimit(nothing), "rateLimit: must be an object, got undefined [OPTION_TYPE]"],
    [() => withRateLimit(() => undefined, nothing), "rateLimit.limit: is required [OPTION_MISSING]"],
    [() => withUpgradeLimit(() => undefined, nothing), "rateLimit.limit: is required [OPTION_MISSING]"],
    [
      () => withRateLimit(nothing, nothing),
      "withRateLimit.handler: must be a function, got null [OPTION_TYPE]",
    ],
    [
      () => withUpgradeLimit(nothing, nothing),
      "withUpgradeLimit.handler: must be a function, got null [OPTION_TYPE]",
    ],
  ])("are refused at creation: %s", (make, message) => {
    expect(make).toThrow(message)
  })
})
