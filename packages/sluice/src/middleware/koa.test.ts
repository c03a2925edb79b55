import Koa from "koa"
import { afterEach, describe, expect, it } from "vitest"
import { listenOnLoopback } from "../outgoing/loopback.test-support.js"
import { rateLimit } from "./koa.js"
import { type AdapterCase, describeAdapter, type RunningApp } from "./suite/adapter-suite.test-support.js"

const start: AdapterCase["start"] = (limits, handler) => {
  const app = quiet(new Koa())
  for (const options of limits) app.use(rateLimit(options))
  app.use(async (context) => {
    const { status, body } = await handler(context.path, context.state.rateLimit, context.state)
    context.status = status
    context.body = body
  })
  return listenOnLoopback(app.callback())
}
describeAdapter({
  name: "koa",
  start,
  trustSetting: "app.proxy = true with app.maxIpsCount = 1 for one proxy",
})

/** Without the stack traces that koa prints. */
function quiet(app: Koa): Koa {
  app.silent = true
  return app
}

describe("what only koa has", () => {
  const apps: RunningApp[] = []
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close()
  })

  async function serve(app: Koa): Promise<string> {
    const running = await listenOnLoopback(quiet(app).callback())
    apps.push(running)
    return running.url
  }

  const once = { limit: 1, window: "1h", algorithm: "sliding-window-log" } as const

  it("keeps the headers of an error and adds its own", async () => {
    const app = new Koa()
    app.use(rateLimit(once))
    app.use((context) =>
      context.throw(503, "later", { headers: { "x-ratelimit-limit": "7", "x-own": "yes" } }),
    )
    const failed = await fetch(await serve(app))
    expect(failed.status).toBe(503)
    expect(failed.headers.get("x-own")).toBe("yes")
    expect(failed.headers.get("x-ratelimit-limit")).toBe("7")
    expect(failed.headers.get("x-ratelimit-remaining")).toBe("0")
  })

  it("follows app.proxy", async () => {
    const app = new Koa({ proxy: true, maxIpsCount: 1 })
    app.use(rateLimit(once))
    app.use((context) => {
      context.body = "hello"
    })
    const url = await serve(app)
    const from = async (ip: string): Promise<number> =>
      (await fetch(url, { headers: { "x-forwarded-for": ip } })).status
    expect(await from("203.0.113.1")).toBe(200)
    expect(await from("203.0.113.2")).toBe(200)
    expect(await from("198.51.100.1, 203.0.113.2")).toBe(429)
  })

  it("lets onDenied respond, or let the request go on", async () => {
    const app = new Koa()
    app.use(
      rateLimit({
        ...once,
        onDenied(context, decision, next) {
          if (context.path === "/pass") return next()
          context.status = 418
          context.body = { limit: decision.limit }
          return undefined
        },
      }),
    )
    app.use((context) => {
      context.body = String(context.state.rateLimit?.allowed)
    })
    const url = await serve(app)
    expect(await (await fetch(url)).text()).toBe("true")
    const denied = await fetch(url)
    expect([denied.status, await denied.json()]).toEqual([418, { limit: 1 }])
    expect(denied.headers.has("retry-after")).toBe(true)
    expect(await (await fetch(`${url}/pass`)).text()).toBe("false")
  })
})
