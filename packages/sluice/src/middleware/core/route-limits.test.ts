import { describe, expect, it } from "vitest"
import { createLimiter } from "../../limiter/limiter.js"
import type { Store } from "../../stores/store.js"
import { checkRateLimitOptions } from "./rate-limit-options.js"
import { joinOptions, RouteLimits } from "./route-limits.js"

const MINUTE = { limit: 100, window: "1m" }

describe("merging the options of a route with those of the application", () => {
  it("inherits the options that the route does not give", () => {
    const skip = (): boolean => false
    expect(joinOptions({ ...MINUTE, skip, headers: "legacy" }, { headers: "none" }, "GET /")).toEqual({
      ...MINUTE,
      skip,
      headers: "none",
    })
  })

  it("inherits no part of a limit when the route has one", () => {
    const general = { ...MINUTE, name: "all", algorithm: "token-bucket", burst: 500, keyBy: "global" }
    expect(joinOptions(general, { limit: 5, window: "1h" }, "GET /")).toEqual({
      limit: 5,
      window: "1h",
      keyBy: "global",
      prefix: "sluice:GET /",
    })
  })

  it("separates the counters of a route's own limit, unless it has a prefix", () => {
    const general = { ...MINUTE, prefix: "shop" }
    expect(joinOptions(general, { limits: [MINUTE] }, "GET /").prefix).toBe("shop:GET /")
    expect(joinOptions(general, { ...MINUTE, prefix: "both" }, "GET /").prefix).toBe("both")
  })

  it("uses the application's limit when the route has none", () => {
    expect(joinOptions({ ...MINUTE, prefix: "shop" }, { cost: 5 }, "GET /").prefix).toBe("shop")
  })

  it("drops the options that do not fit the route's own limiter or engine", () => {
    const general = { ...MINUTE, store: "s", clock: "c", prefix: "p", onStoreFailure: "deny", keyBy: "ip" }
    expect(joinOptions(general, { limiter: "l" }, "GET /")).toEqual({
      limiter: "l",
      onStoreFailure: "deny",
      keyBy: "ip",
    })
    expect(joinOptions(general, { engine: "e" }, "GET /")).toEqual({ engine: "e" })
    expect(joinOptions({ engine: "e", tier: "t", cost: 2 }, MINUTE, "GET /")).toEqual({
      ...MINUTE,
      cost: 2,
      prefix: "sluice:GET /",
    })
  })

  it("replaces the application's key by the route's, whether given as key or keyBy", () => {
    expect(joinOptions({ ...MINUTE, keyBy: "ip" }, { key: "k" }, "GET /")).toEqual({ ...MINUTE, key: "k" })
    expect(joinOptions({ ...MINUTE, key: "k" }, { keyBy: "ip" }, "GET /")).toEqual({ ...MINUTE, keyBy: "ip" })
  })

  it("replaces the application's proxies together with their header", () => {
    const general = { ...MINUTE, trustProxy: 1, proxyHeader: "forwarded" }
    expect(joinOptions(general, { trustProxy: 2 }, "GET /")).toEqual({ ...MINUTE, trustProxy: 2 })
  })
})

describe("the limits of an application", () => {
  interface Options {
    store: Store
    limit: number
  }
  const keep = (options: Options): Options => options

  it("share one memory store, which is closed with them", async () => {
    const limits = new RouteLimits<Options>(MINUTE, [], keep)
    const { store } = limits.general
    expect(limits.own({ limit: 5, window: "1m" }, "GET /").store).toBe(store)
    const limiter = createLimiter({ limit: 1, window: "1m", store })
    expect(limiter.checkSync("me").allowed).toBe(true)
    await limits.close()
    expect(() => limiter.checkSync("me")).toThrow(expect.objectContaining({ code: "STORE_CLOSED" }))
  })

  it("are made once for a route and its options", () => {
    const limits = new RouteLimits<Options>(MINUTE, [], keep)
    const own = { limit: 5, window: "1m" }
    expect(limits.own(own, "GET /")).toBe(limits.own(own, "GET /"))
    expect(limits.own(own, "GET /")).not.toBe(limits.own(own, "GET /other"))
    expect(limits.own({ ...own, limit: 6 }, "GET /").limit).toBe(6)
    expect(limits.general).toBe(limits.general)
  })

  it("name the route of an invalid option", () => {
    const check = (options: Options) => checkRateLimitOptions(options as never, ["onDenied"]) as Options
    const limits = new RouteLimits<Options>(MINUTE, ["onDenied"], check)
    expect(() => limits.own({ limt: 5, status: 200 }, "GET /")).toThrow(
      /^rateLimit.limt of GET \/: does not exist; did you mean limit\? \[OPTION_UNKNOWN\]\nrateLimit.status of GET \/: /,
    )
    expect(() => limits.own({ onDenied: () => {} }, "GET /")).not.toThrow()
  })

  it("refuse an unknown option that no route uses alone", () => {
    expect(() => new RouteLimits<Options>({ limt: 5 }, [], keep).checkNames()).toThrow(
      "rateLimit.limt: does not exist",
    )
  })
})
