// express: 100 requests a minute for each client, and 2 an hour for logins, of which only those that fail count.
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
// curl says that its data is a form.
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
