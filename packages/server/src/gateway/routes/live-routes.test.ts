import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { afterEach, expect, it } from "vitest"
import { eventually } from "../../../../../test/support/eventually.js"
import { configSchema } from "../../config/schema.js"
import { LiveRoutes } from "./live-routes.js"

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

function open(): LiveRoutes {
  const routes = new LiveRoutes()
  closers.push(() => routes.close())
  return routes
}

function settings(gateway: object) {
  return configSchema.parse({ gateway }).gateway
}

/** A target that answers its health check as the test wants. */
async function target(health: { status: number }): Promise<string> {
  const server = createServer((_request, response) => response.writeHead(health.status).end())
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  closers.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const TWO = {
  upstreams: { a: { targets: ["http://a:1"] }, b: { targets: ["http://b:1", "http://b:2"] } },
  routes: [
    { path: "/a", upstream: "a", stripPrefix: true, deadlines: { total: "5s" } },
    { name: "rest", host: "example.com", upstream: "b", keepHost: false },
  ],
  deadlines: { headers: "7s" },
}

it("sends everything to the only upstream when there are no routes", async () => {
  const routes = open()
  await routes.follow(settings({ upstream: ["http://a:1"] }))
  const route = routes.find("any", "/thing")
  expect(route).toMatchObject({ name: "default", keepHost: true, stripPrefix: undefined })
  expect(route?.upstream.pick()?.origin).toBe("http://a:1")
})

it("builds routes from the settings", async () => {
  const routes = open()
  await routes.follow(settings(TWO))
  expect(routes.find("x", "/a/1")).toMatchObject({
    name: "/a",
    stripPrefix: "/a",
    keepHost: true,
    deadlines: { connect: 5_000, headers: 7_000, bodyIdle: 60_000, total: 5_000 },
  })
  expect(routes.find("example.com", "/1")).toMatchObject({ name: "rest", keepHost: false })
  expect(routes.find("x", "/1")).toBeUndefined()
})

it("does not send the client's Host to an https upstream unless keepHost is set", async () => {
  const routes = open()
  await routes.follow(settings({ upstream: ["https://a:1"] }))
  expect(routes.find("x", "/")?.keepHost).toBe(false)
})

it("keeps an unchanged upstream, and leaves routes that were found before unchanged", async () => {
  const routes = open()
  await routes.follow(settings(TWO))
  const before = { a: routes.find("x", "/a"), b: routes.find("example.com", "/") }
  await routes.follow(settings({ ...TWO, upstreams: { ...TWO.upstreams, a: { targets: ["http://c:1"] } } }))
  expect(routes.find("example.com", "/")?.upstream).toBe(before.b?.upstream)
  expect(routes.find("x", "/a")?.upstream.pick()?.origin).toBe("http://c:1")
  expect(before.a?.upstream.pick()?.origin).toBe("http://a:1")
})

it("changes nothing when the settings are not usable", async () => {
  const routes = open()
  await routes.follow(settings(TWO))
  const bad = {
    ...TWO,
    upstreams: { ...TWO.upstreams, a: { targets: ["https://c:1"], tls: { ca: "/none" } } },
  }
  await expect(routes.follow(settings(bad))).rejects.toThrow(
    /^gateway\.upstreams\.a\.tls\.ca: must be a readable file.*\[CERTIFICATE_INVALID\]$/,
  )
  expect(routes.find("x", "/a")?.upstream.pick()?.origin).toBe("http://a:1")
})

it("checks the health of new targets before they receive a request", async () => {
  const well = await target({ status: 200 })
  const ill = await target({ status: 500 })
  const routes = open()
  const health = { path: "/healthz", interval: "1h" }
  await routes.follow(settings({ upstreams: { u: { targets: [well, ill], health } } }))
  const upstream = routes.find("x", "/")?.upstream
  expect([upstream?.pick()?.origin, upstream?.pick()?.origin]).toEqual([well, well])
  expect(routes.targets()).toEqual([
    { upstream: "u", target: well, isUp: true, active: 0 },
    { upstream: "u", target: ill, isUp: false, active: 0 },
  ])
})

it("sends requests to a target again once it is healthy", async () => {
  const state = { status: 500 }
  const origin = await target(state)
  const routes = open()
  const health = { path: "/", interval: "1ms", healthyAfter: 1 }
  await routes.follow(settings({ upstreams: { u: { targets: [origin], health } } }))
  expect(routes.find("x", "/")?.upstream.pick()).toBeUndefined()
  state.status = 200
  await eventually(() => routes.find("x", "/")?.upstream.pick())
})
