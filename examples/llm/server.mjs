// An LLM endpoint: each API key may use 10 units per second, 60 per minute and 1,000 per hour. A request must fit into all three
// limits. It costs one unit per 1,000 tokens that it asks for, so that long answers cost more than short ones.
//
//   node examples/llm/server.mjs
//   prints: listening on http://127.0.0.1:3000
//
// A short answer costs 1, a longer one 9. x-ratelimit-* shows the limit with the least left, `ratelimit` shows all limits:
//   curl -i -H 'x-api-key: a' -d '{"max_tokens":500}' http://127.0.0.1:3000/v1/chat    → 200; cost 1; x-ratelimit-remaining: 9
//   curl -i -H 'x-api-key: b' -d '{"max_tokens":9000}' http://127.0.0.1:3000/v1/chat   → 200; cost 9; x-ratelimit-remaining: 1; ratelimit: "per-second";r=1;t=1, "per-minute";r=51;t=60, "per-hour";r=991;t=3600
//
// A request over the limit per second is denied. The response names the limit, and nothing is charged, so a short one still fits:
//   curl -i -H 'x-api-key: b' -d '{"max_tokens":9000}' http://127.0.0.1:3000/v1/chat   → 429; "violated-policies":["per-second"]; retry-after: 1
//   curl -i -H 'x-api-key: b' -d '{"max_tokens":500}' http://127.0.0.1:3000/v1/chat    → 200; cost 1; x-ratelimit-remaining: 0
//
// A request that can never fit is denied without retry-after:
//   curl -i -H 'x-api-key: c' -d '{"max_tokens":99000}' http://127.0.0.1:3000/v1/chat  → 429; costs more than its limit can ever allow; retry-after: none

import express from "express"
import { rateLimit } from "sluice/express"

const MAX_TOKENS = 100_000

/** @param {unknown} tokens */
function costOf(tokens) {
  const asked = Number.isSafeInteger(tokens) ? Number(tokens) : MAX_TOKENS
  return Math.max(1, Math.ceil(Math.min(asked, MAX_TOKENS) / 1_000))
}

const app = express()
// The cost is in the body, so read the body first, with a size limit. curl -d sends it with the content type of a form.
app.use(express.json({ type: () => true, limit: "100kb" }))
app.use(
  "/v1/chat",
  rateLimit({
    limits: [
      { name: "per-second", algorithm: "sliding-window-log", limit: 10, window: "1s" },
      { name: "per-minute", algorithm: "sliding-window-log", limit: 60, window: "1m" },
      { name: "per-hour", algorithm: "sliding-window-log", limit: 1_000, window: "1h" },
    ],
    keyBy: "header:x-api-key",
    cost: (request) => costOf(request.body?.max_tokens),
  }),
)

app.post("/v1/chat", (request, response) => {
  response.send(`an answer, cost ${costOf(request.body?.max_tokens)}\n`)
})

const port = Number(process.env.PORT ?? 3000)
app.listen(port, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${port}`)
})
