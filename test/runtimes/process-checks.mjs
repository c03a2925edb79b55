// The checks for runtimes that have processes and sockets: Node, Bun and Deno. Prints the results as one line of JSON.
//   SLUICE_REDIS_URL   a Redis server

import { createRequire } from "node:module"
import process from "node:process"
import { createLimiter } from "sluice"
import { connectRedis, redisStore } from "sluice/redis"
import { checks, equal, keepsContract, PATIENT, runChecks, statusesOf } from "./checks.mjs"

const url = process.env.SLUICE_REDIS_URL
const limit = { limit: 2, window: "1m", algorithm: "token-bucket" }

/** Closes the server and the connections to it. */
async function served(server, path) {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve))
  try {
    return await statusesOf(() => fetch(`http://127.0.0.1:${server.address().port}${path}`))
  } finally {
    server.closeAllConnections?.()
    server.close()
  }
}

const all = {
  ...checks,

  "require (CommonJS)": async () => {
    const required = createRequire(import.meta.url)("sluice")
    const limiter = required.createLimiter({ ...limit, store: (await import("sluice")).memoryStore() })
    equal((await limiter.check("a")).remaining, 1)
  },

  "rules in a file": async () => {
    const { createRuleEngine, fileRules } = await import("sluice/rules")
    const { mkdtempSync, rmSync, writeFileSync } = await import("node:fs")
    const { tmpdir } = await import("node:os")
    const { join } = await import("node:path")
    const folder = mkdtempSync(join(tmpdir(), "sluice-runtime-"))
    try {
      const path = join(folder, "rules.yaml")
      writeFileSync(path, "version: 1\nrules:\n  - id: all\n    limits: [{ limit: 2, window: 1m }]\n")
      const source = await fileRules(path)
      const engine = createRuleEngine({ rules: source })
      equal((await engine.check({ method: "GET", path: "/" })).rule, "all")
      await source.save({ version: 1, rules: [] }, { by: "a check" })
      engine.close()
      await source.close()
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  },

  "node:http middleware": async () => {
    const { createServer } = await import("node:http")
    const { withRateLimit } = await import("sluice/node")
    equal(
      await served(createServer(withRateLimit((_, response) => response.end("hello"), limit)), "/"),
      [200, 200, 429],
    )
  },

  "express middleware": async () => {
    const { createServer } = await import("node:http")
    const { default: express } = await import("express")
    const { rateLimit } = await import("sluice/express")
    const app = express()
    app.use(rateLimit(limit))
    app.get("/", (_, response) => response.send("hello"))
    equal(await served(createServer(app), "/"), [200, 200, 429])
  },

  "Redis with ioredis": async () => {
    const store = await connectRedis(url)
    try {
      const limiter = createLimiter({ ...limit, store, prefix: `runtime-${Date.now()}` })
      // Until the client has connected, decisions are degraded.
      while ((await limiter.peek("a")).degraded !== undefined)
        await new Promise((done) => setTimeout(done, 20))
      equal((await limiter.check("a")).remaining, 1)
      equal((await limiter.check("a")).remaining, 0)
      equal((await limiter.check("a")).allowed, false)
    } finally {
      await store.close()
    }
    const { Redis } = await import("ioredis")
    const client = new Redis(url)
    try {
      await keepsContract(() => redisStore(client, PATIENT))
    } finally {
      client.disconnect()
    }
  },

  "Redis with node-redis": async () => {
    const { createClient } = await import("redis")
    const client = createClient({ url })
    await client.connect()
    try {
      await keepsContract(() => redisStore(client, PATIENT))
    } finally {
      client.destroy()
    }
  },
}

console.log(JSON.stringify(await runChecks(all)))
process.exit(0)
