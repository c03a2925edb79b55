// fastify: each client may send 3 requests per minute. One route has its own limit, and the health check has none.
//
//   node examples/fastify/server.mjs
//   prints: listening on http://127.0.0.1:3000
//
//   curl -i http://127.0.0.1:3000/        → 200; hello, 2 left; x-ratelimit-remaining: 2
//   curl -i http://127.0.0.1:3000/search  → 200; found; x-ratelimit-remaining: 0
//   curl -i http://127.0.0.1:3000/search  → 429; Too many requests; retry-after: 60
//   curl -i http://127.0.0.1:3000/        → 200; hello, 1 left
//   curl -i http://127.0.0.1:3000/        → 200; hello, 0 left
//   curl -i http://127.0.0.1:3000/        → 429; Too many requests; retry-after: 20
//   curl -i http://127.0.0.1:3000/health  → 200; fine

import fastify from "fastify"
import { rateLimit } from "sluice/fastify"

const app = fastify({ forceCloseConnections: true })
await app.register(rateLimit, { algorithm: "token-bucket", limit: 3, window: "1m" })

app.get("/", async (request) => `hello, ${request.rateLimit?.remaining} left\n`)
app.get(
  "/search",
  { config: { rateLimit: { algorithm: "token-bucket", limit: 1, window: "1m" } } },
  async () => "found\n",
)
app.get("/health", { config: { rateLimit: false } }, async () => "fine\n")

const port = Number(process.env.PORT ?? 3000)
await app.listen({ port, host: "127.0.0.1" })
console.log(`listening on http://127.0.0.1:${port}`)
