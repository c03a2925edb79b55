import fastify, { type FastifyInstance } from "fastify"
import { expect, it } from "vitest"
import { FastifyRoutes } from "./fastify-routes.js"

const ONCE = { limit: 1, window: "1h" } as const

/** The routes of an application that is ready, seen after `before` has run. */
async function routesOf(
  after: (app: FastifyInstance) => void,
  before: (app: FastifyInstance) => void = () => undefined,
): Promise<FastifyRoutes> {
  const app = fastify()
  before(app)
  const routes = new FastifyRoutes(app.printRoutes())
  app.addHook("onRoute", (route) => routes.see(route))
  after(app)
  app.addHook("onReady", async () => routes.complete())
  await app.ready()
  await app.close()
  return routes
}

it("may not differ when every route was seen and says nothing of limits", async () => {
  const { mayDiffer } = await routesOf((app) => {
    app.get("/", { config: { url: "/", method: "GET" } }, () => "hello")
    app.register(async (scope) => scope.get("/scope", () => "hello"))
  })
  expect(mayDiffer).toBe(false)
})

it("may differ when one route has a limit of its own, or wants none", async () => {
  for (const own of [ONCE, false] as const) {
    const { mayDiffer } = await routesOf((app) => {
      app.get("/", () => "hello")
      app.register(async (scope) => scope.get("/own", { config: { rateLimit: own } }, () => "hello"))
    })
    expect(mayDiffer).toBe(true)
  }
})

it("may differ when another plugin gives a route a limit after it was seen", async () => {
  const { mayDiffer } = await routesOf((app) => {
    app.addHook("onRoute", (route) => {
      route.config = { ...route.config, rateLimit: ONCE } as NonNullable<typeof route.config>
    })
    app.get("/", () => "hello")
  })
  expect(mayDiffer).toBe(true)
})

it("may differ when there are routes that were not seen", async () => {
  const { mayDiffer } = await routesOf(
    () => undefined,
    (app) => app.get("/", () => "hello"),
  )
  expect(mayDiffer).toBe(true)
})

it("may differ as long as the application is not ready", () => {
  expect(new FastifyRoutes(fastify().printRoutes()).mayDiffer).toBe(true)
})
