// An LLM endpoint: for each API key 10 units per second, 60 per minute and 1,000 per hour, decided together, all or
// nothing. A request costs a unit for every 1,000 tokens it asks for, so long answers count for more than short ones.
//
//   node examples/llm/server.mjs
//   prints: listening on http://127.0.0.1:3000
//
// A short answer costs 1, a longer one 9; the tightest limit is in the headers with room for one, all are in `ratelimit`:
//   curl -i -H 'x-api-key: a' -d '{"max_tokens":500}' http://127.0.0.1:3000/v1/chat    → 200; cost 1; x-ratelimit-remaining: 9
//   curl -i -H 'x-api-key: b' -d '{"max_tokens":9000}' http://127.0.0.1:3000/v1/chat   → 200; cost 9; x-ratelimit-remaining: 1; ratelimit: "per-second";r=1;t=1, "per-minute";r=51;t=60, "per-hour";r=991;t=3600
//
// More than a second allows is denied, says by which limit, and charges nothing, so that a short one still passes:
//   curl -i -H 'x-api-key: b' -d '{"max_tokens":9000}' http://127.0.0.1:3000/v1/chat   → 429; "violated-policies":["per-second"]; retry-after: 1
//   curl -i -H 'x-api-key: b' -d '{"max_tokens":500}' http://127.0.0.1:3000/v1/chat    → 200; cost 1; x-ratelimit-remaining: 0
//
// What can never fit is told so, without a time to come back:
//   curl -i -H 'x-api-key: c' -d '{"max_tokens":99000}' http://127.0.0.1:3000/v1/chat  → 429; costs more than its limit can ever allow; retry-after: none

import express from "express"
import { rateLimit } from "sluice/express"

const MOST_TOKENS = 100_000

/** @param {unknown} tokens */
function costOf(tokens) {
  const asked = Number.isSafeInteger(tokens) ? Number(tokens) : MOST_TOKENS
  return Math.max(1, Math.ceil(Math.min(asked, MOST_TOKENS) / 1_000))
}

const app = express()
// The cost is in the body, so the body is read first; it may not be large. curl says that its data is a form.
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
