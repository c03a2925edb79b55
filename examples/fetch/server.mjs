// A fetch handler, as in Cloudflare Workers, Bun, Deno and the route handlers of Next: each client may send 3 requests per
// minute. Those runtimes need only `export default { fetch: handler }`. On Node a server must call it, here that of hono.
//
//   node examples/fetch/server.mjs
//   prints: listening on http://127.0.0.1:3000
//
//   curl -i http://127.0.0.1:3000/a    → 200; hello from /a; x-ratelimit-remaining: 2
//   curl -i http://127.0.0.1:3000/b    → 200; hello from /b; x-ratelimit-remaining: 1
//   curl -i http://127.0.0.1:3000/a    → 200; hello from /a; x-ratelimit-remaining: 0
//   curl -i http://127.0.0.1:3000/a    → 429; Too many requests; retry-after: 20

import { serve } from "@hono/node-server"
import { withRateLimit } from "sluice/fetch"

const handler = withRateLimit(
  /** @param {Request} request @param {unknown} _info from the server: contains the address of the client */
  (request, _info) => new Response(`hello from ${new URL(request.url).pathname}\n`),
  { algorithm: "token-bucket", limit: 3, window: "1m" },
)

const port = Number(process.env.PORT ?? 3000)
serve({ fetch: handler, port, hostname: "127.0.0.1" }, () => {
  console.log(`listening on http://127.0.0.1:${port}`)
})
