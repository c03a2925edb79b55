// hono: each client may send 3 requests per minute. Denied requests get a custom response.
//
//   node examples/hono/server.mjs
//   prints: listening on http://127.0.0.1:3000
//
//   curl -i http://127.0.0.1:3000/    → 200; hello, 2 left
//   curl -i http://127.0.0.1:3000/    → 200; hello, 1 left
//   curl -i http://127.0.0.1:3000/    → 200; hello, 0 left; x-ratelimit-remaining: 0
//   curl -i http://127.0.0.1:3000/    → 429; {"error":"slow down","limit":3}; retry-after: 20

import { serve } from "@hono/node-server"
import { Hono } from "hono"
import { rateLimit } from "sluice/hono"

const app = new Hono()
app.use(
  rateLimit({
    algorithm: "token-bucket",
    limit: 3,
    window: "1m",
    onDenied: (c, { limit }) => c.json({ error: "slow down", limit }, 429),
  }),
)
app.get("/", (c) => c.text(`hello, ${c.get("rateLimit")?.remaining} left\n`))

const port = Number(process.env.PORT ?? 3000)
serve({ fetch: app.fetch, port, hostname: "127.0.0.1" }, () => {
  console.log(`listening on http://127.0.0.1:${port}`)
})
