// The applications that are measured: a framework alone, with Sluice, and with the limiter that most people use with it. Two
// more show where the cost comes from: one only sets the headers, the other is a minimal limiter.

/**
 * @typedef {object} Contender
 * @property {string} framework
 * @property {string} name
 * @property {"bare" | "part" | "sluice" | "peer"} kind
 * @property {string} call   what is added to the application, as shown in the docs
 * @property {string} headers
 * @property {boolean} [isPromised]  sends the same headers as the peer, and is compared with it
 * @property {() => Promise<number>} listen  serves on a free port of loopback and returns the port
 */

export const frameworks = ["express", "fastify", "hono"]
export const packages = [
  "sluice",
  "express",
  "express-rate-limit",
  "fastify",
  "@fastify/rate-limit",
  "hono",
  "@hono/node-server",
  "hono-rate-limiter",
]

/** A limit that no run reaches. */
const LIMIT = 1_000_000_000
const DAY = 86_400_000
const numbers = { limit: LIMIT, window: DAY }
const shownNumbers = "{ limit: 1_000_000_000, window: 86_400_000 }"
const LOOPBACK = "127.0.0.1"

/** @type {readonly Contender[]} */
export const contenders = [
  {
    ...row("express", "bare", "none", "none"),
    listen: () => express(),
  },
  {
    ...row("express", "sluice", `rateLimit(${shownNumbers}) of sluice/express`, "legacy and draft-8"),
    listen: async () => express((await import("sluice/express")).rateLimit(numbers)),
  },
  {
    ...row("express", "sluice, legacy headers", 'the same with `headers: "legacy"`', "legacy"),
    isPromised: true,
    listen: async () =>
      express((await import("sluice/express")).rateLimit({ ...numbers, headers: "legacy" })),
  },
  {
    ...row("express", "express-rate-limit", "rateLimit({ limit, windowMs })", "legacy"),
    listen: async () =>
      express((await import("express-rate-limit")).rateLimit({ limit: LIMIT, windowMs: DAY })),
  },
  {
    ...row("fastify", "bare", "none", "none"),
    listen: () => fastify(),
  },
  {
    ...row("fastify", "headers alone", "onRequest: three times reply.header with a fixed text", "legacy"),
    listen: () => fastify((app) => app.addHook("onRequest", headersAlone)),
  },
  {
    ...row(
      "fastify",
      "counter alone",
      "onRequest: a count for each address in a Map, and three times reply.header",
      "legacy",
    ),
    listen: () => fastify((app) => app.addHook("onRequest", counterAlone())),
  },
  {
    ...row(
      "fastify",
      "sluice",
      `register(rateLimit, ${shownNumbers}) of sluice/fastify`,
      "legacy and draft-8",
    ),
    listen: async () => {
      const { rateLimit } = await import("sluice/fastify")
      return await fastify((app) => app.register(rateLimit, numbers))
    },
  },
  {
    ...row("fastify", "sluice, legacy headers", 'the same with `headers: "legacy"`', "legacy"),
    isPromised: true,
    listen: async () => {
      const { rateLimit } = await import("sluice/fastify")
      return await fastify((app) => app.register(rateLimit, { ...numbers, headers: "legacy" }))
    },
  },
  {
    ...row("fastify", "@fastify/rate-limit", "register(rateLimit, { max, timeWindow })", "legacy"),
    listen: async () => {
      const { default: rateLimit } = await import("@fastify/rate-limit")
      return await fastify((app) => app.register(rateLimit, { max: LIMIT, timeWindow: DAY }))
    },
  },
  {
    ...row("hono", "bare", "none", "none"),
    listen: () => hono(),
  },
  {
    ...row("hono", "sluice", `rateLimit(${shownNumbers}) of sluice/hono`, "legacy and draft-8"),
    listen: async () => hono((await import("sluice/hono")).rateLimit(numbers)),
  },
  {
    ...row("hono", "sluice, draft-6 headers", 'the same with `headers: "draft-6"`', "draft-6"),
    isPromised: true,
    listen: async () => hono((await import("sluice/hono")).rateLimit({ ...numbers, headers: "draft-6" })),
  },
  {
    ...row("hono", "hono-rate-limiter", "rateLimiter({ limit, windowMs, keyGenerator })", "draft-6"),
    listen: async () => {
      const { rateLimiter } = await import("hono-rate-limiter")
      const limiter = rateLimiter({
        limit: LIMIT,
        windowMs: DAY,
        keyGenerator: (context) => context.env.incoming.socket.remoteAddress,
      })
      return await hono(limiter)
    },
  },
]

/**
 * @param {string} framework
 * @param {string} name
 */
export function contenderOf(framework, name) {
  const found = contenders.find((c) => c.framework === framework && c.name === name)
  if (found === undefined) throw new Error(`there is no ${name} on ${framework}`)
  return found
}

/**
 * @param {string} framework
 * @param {string} name
 * @param {string} call
 * @param {string} headers
 * @returns {Omit<Contender, "listen">}
 */
function row(framework, name, call, headers) {
  return { framework, name, kind: kindOf(name), call, headers }
}

/**
 * @param {string} name
 * @returns {Contender["kind"]}
 */
function kindOf(name) {
  if (name === "bare") return "bare"
  if (name.endsWith(" alone")) return "part"
  return name.startsWith("sluice") ? "sluice" : "peer"
}

/** @type {import("fastify").onRequestHookHandler} */
function headersAlone(_request, reply, done) {
  reply.header("x-ratelimit-limit", "1000000000")
  reply.header("x-ratelimit-remaining", "999999999")
  reply.header("x-ratelimit-reset", "1767225600")
  done()
}

/** A bare fixed window: one limit, no options, and addresses are never removed. */
function counterAlone() {
  /** @type {Map<string, { used: number, until: number, reset: string }>} */
  const counts = new Map()
  /** @type {import("fastify").onRequestHookHandler} */
  const hook = (request, reply, done) => {
    const now = Date.now()
    let count = counts.get(request.ip)
    if (count === undefined || count.until <= now) {
      const until = now + DAY
      count = { used: 0, until, reset: String(Math.ceil(until / 1000)) }
      counts.set(request.ip, count)
    }
    count.used++
    reply.header("x-ratelimit-limit", "1000000000")
    reply.header("x-ratelimit-remaining", String(LIMIT - count.used))
    reply.header("x-ratelimit-reset", count.reset)
    if (count.used > LIMIT) reply.code(429).send()
    else done()
  }
  return hook
}

/** @param {import("express").RequestHandler} [middleware] */
async function express(middleware) {
  const { default: create } = await import("express")
  const app = create()
  if (middleware !== undefined) app.use(middleware)
  app.get("/", (_request, response) => {
    response.send("hello")
  })
  return await new Promise((/** @type {(port: number) => void} */ resolve) => {
    const server = app.listen(0, LOOPBACK, () => resolve(portOf(server)))
  })
}

/** @param {(app: any) => PromiseLike<unknown>} [plug] */
async function fastify(plug) {
  const { default: create } = await import("fastify")
  const app = create()
  await plug?.(app)
  app.get("/", (_request, reply) => {
    reply.send("hello")
  })
  await app.listen({ host: LOOPBACK, port: 0 })
  return portOf(app.server)
}

/** @param {any} [middleware]  typed for another copy of hono than the one it runs on */
async function hono(middleware) {
  const { Hono } = await import("hono")
  const { serve } = await import("@hono/node-server")
  const app = new Hono()
  if (middleware !== undefined) app.use(middleware)
  app.get("/", (c) => c.text("hello"))
  return await new Promise((/** @type {(port: number) => void} */ resolve) => {
    serve({ fetch: app.fetch, hostname: LOOPBACK, port: 0 }, ({ port }) => resolve(port))
  })
}

/** @param {{ address(): unknown }} server */
function portOf(server) {
  return /** @type {import("node:net").AddressInfo} */ (server.address()).port
}
