// express: each client may send 100 requests per minute, and 2 failed logins per hour. Successful logins do not count.
//
//   node examples/express/server.mjs
//   prints: listening on http://127.0.0.1:3000
//
//   curl -i http://127.0.0.1:3000/                                 → 200; hello, 99 left
//   curl -i -d '{"password":"right"}' http://127.0.0.1:3000/login  → 200; welcome; x-ratelimit-remaining: 1
//   curl -i -d '{"password":"wrong"}' http://127.0.0.1:3000/login  → 401; no; x-ratelimit-remaining: 1
//   curl -i -d '{"password":"wrong"}' http://127.0.0.1:3000/login  → 401; no; x-ratelimit-remaining: 0
//   curl -i -d '{"password":"right"}' http://127.0.0.1:3000/login  → 429; Too many requests; retry-after: 3600
//   curl -i http://127.0.0.1:3000/                                 → 200; hello

import express from "express"
import { rateLimit } from "sluice/express"

const app = express()
// Parses every body as JSON, because curl -d sends it with the content type of a form.
app.use(express.json({ type: () => true }))
app.use(rateLimit({ algorithm: "token-bucket", limit: 100, window: "1m", name: "all" }))

app.get("/", (request, response) => {
  response.send(`hello, ${request.rateLimit?.remaining} left\n`)
})

const logins = rateLimit({
  algorithm: "sliding-window-log",
  limit: 2,
  window: "1h",
  name: "logins",
  skipSuccessfulRequests: true,
})
app.post("/login", logins, (request, response) => {
  if (request.body.password === "right") response.send("welcome\n")
  else response.status(401).send("no\n")
})

const port = Number(process.env.PORT ?? 3000)
app.listen(port, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${port}`)
})
