// Plain Node: each client address may send 3 requests per minute.
//
//   node examples/node/server.mjs
//   prints: listening on http://127.0.0.1:3000
//
//   curl -i http://127.0.0.1:3000/    → 200; hello; x-ratelimit-remaining: 2
//   curl -i http://127.0.0.1:3000/    → 200; hello; x-ratelimit-remaining: 1
//   curl -i http://127.0.0.1:3000/    → 200; hello; x-ratelimit-remaining: 0
//   curl -i http://127.0.0.1:3000/    → 429; Too many requests; retry-after: 20

import { createServer } from "node:http"
import { withRateLimit } from "sluice/node"

const handler = withRateLimit(
  (_request, response) => {
    response.end("hello\n")
  },
  { algorithm: "token-bucket", limit: 3, window: "1m" },
)

const port = Number(process.env.PORT ?? 3000)
createServer(handler).listen(port, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${port}`)
})
