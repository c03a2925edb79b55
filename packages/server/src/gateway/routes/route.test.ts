import { expect, it, vi } from "vitest"
import { compileRoutes, type Route } from "./route.js"

/** Routes from `host/path` or `/path`, each named by it. */
function table(...places: readonly string[]): (host: string | undefined, path: string) => string | undefined {
  const routes = compileRoutes(
    places.map((place) => {
      const slash = place.indexOf("/")
      const host = slash === 0 ? undefined : place.slice(0, slash)
      const route: Route = {
        name: place,
        upstream: { name: "u", pick: () => undefined },
        deadlines: { connect: 0, headers: 0, bodyIdle: 0, total: 0 },
        keepHost: true,
      }
      return { host, path: place.slice(slash), route }
    }),
  )
  return (host, path) => routes.find(host, path)?.name
}

it("matches a path and everything below it, not a path with the same prefix", () => {
  const find = table("/api")
  expect(find("a", "/api")).toBe("/api")
  expect(find("a", "/api/")).toBe("/api")
  expect(find("a", "/api/items/1")).toBe("/api")
  expect(find("a", "/apis")).toBeUndefined()
  expect(find("a", "/")).toBeUndefined()
})

it("ignores a trailing slash", () => {
  const find = table("/api/")
  expect(find("a", "/api")).toBe("/api/")
  expect(find("a", "/api/items")).toBe("/api/")
})

it("prefers the longest path", () => {
  const find = table("/", "/api", "/api/v2/items")
  expect(find("a", "/api/v2/items/7")).toBe("/api/v2/items")
  expect(find("a", "/api/v2")).toBe("/api")
  expect(find("a", "/about")).toBe("/")
})

it("prefers the most specific host that has a route for the path", () => {
  const find = table("/", "*.example.com/", "*.eu.example.com/", "api.eu.example.com/v1")
  expect(find("api.eu.example.com", "/v1/x")).toBe("api.eu.example.com/v1")
  expect(find("api.eu.example.com", "/v2")).toBe("*.eu.example.com/")
  expect(find("www.example.com", "/v1")).toBe("*.example.com/")
  expect(find("example.com", "/v1")).toBe("/")
  expect(find("badexample.com", "/")).toBe("/")
  expect(find(undefined, "/")).toBe("/")
})

it("ignores the port, the case and the trailing dot of a host", () => {
  const find = table("API.example.com/", "[::1]/")
  for (const host of ["api.example.com", "Api.Example.Com:8080", "api.example.com.", "api.example.com.:80"])
    expect(find(host, "/")).toBe("API.example.com/")
  expect(find("[::1]:8000", "/")).toBe("[::1]/")
  expect(find("api.example.com.evil.net", "/")).toBeUndefined()
})

it("finds nothing for a host that has no routes", () => {
  expect(table("a.example.com/")("b.example.com", "/")).toBeUndefined()
  expect(table("a.example.com/")(undefined, "/")).toBeUndefined()
})

it("searches a path no deeper than its longest route", () => {
  const find = table("/a/b")
  const looked = vi.spyOn(Map.prototype, "get")
  const found = find("h", `/a${"/x".repeat(8_000)}`)
  const looks = looked.mock.calls.length
  looked.mockRestore()
  expect(found).toBeUndefined()
  expect(looks).toBe(3)
})
