// koa: 3 requests per minute for each API key, or for each address if a request has no key. A report counts as 2 requests.
//
//   node examples/koa/server.mjs
//   prints: listening on http://127.0.0.1:3000
//
//   curl -i -H 'x-api-key: alice' http://127.0.0.1:3000/        → 200; hello, 2 left
//   curl -i -H 'x-api-key: alice' http://127.0.0.1:3000/report  → 200; hello, 0 left
//   curl -i -H 'x-api-key: alice' http://127.0.0.1:3000/        → 429; Too many requests; retry-after: 20
//   curl -i -H 'x-api-key: bob' http://127.0.0.1:3000/          → 200; hello, 2 left
//   curl -i http://127.0.0.1:3000/                              → 200; hello, 2 left

import Koa from "koa"
import { rateLimit } from "sluice/koa"

const app = new Koa()
app.use(
  rateLimit({
    algorithm: "token-bucket",
    limit: 3,
    window: "1m",
    keyBy: "header:x-api-key",
    cost: (context) => (context.path === "/report" ? 2 : 1),
  }),
)
app.use((context) => {
  context.body = `hello, ${context.state.rateLimit?.remaining} left\n`
})

const port = Number(process.env.PORT ?? 3000)
app.listen(port, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${port}`)
})
