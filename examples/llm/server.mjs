// A service in front of a language model. Each user has calls per minute, tokens per minute, a monthly budget and 4 calls at once;
// rules.yaml has the numbers. A call must fit into all of them, and a call that is denied is charged to none.
//
//   node examples/llm/server.mjs
//   prints: listening on http://127.0.0.1:3000
//
// A call is charged an estimate, here 4 × 100 tokens and a quarter of the body's bytes, and what it has used when it is answered:
//   curl -i -H 'authorization: Bearer key-of-ada' -d '{"model":"small","max_tokens":100,"messages":[{"role":"user","content":"hello"}]}' http://127.0.0.1:3000/v1/chat/completions   → 200; "total_tokens":9
//   curl -i -H 'authorization: Bearer key-of-ada' http://127.0.0.1:3000/usage   → 200; "tokens-per-minute":{"used":33; "monthly-budget":{"used":33; "requests-per-minute":{"used":1; "calls-at-once":{"used":0
//
// A stream passes word by word, and is charged the usage that its last event reports. The large model costs 10 times as much:
//   curl -i -H 'authorization: Bearer key-of-bob' -d '{"model":"large","stream":true,"max_tokens":100,"messages":[{"role":"user","content":"hello"}]}' http://127.0.0.1:3000/v1/chat/completions   → 200; "content":"water "; [DONE]; content-type: text/event-stream
//   curl -i -H 'authorization: Bearer key-of-bob' http://127.0.0.1:3000/usage   → 200; "monthly-budget":{"used":330
//
// A denial names the limit and the wait. A call that can never fit is not worth a retry; SDKs of OpenAI follow x-should-retry:
//   curl -i -H 'authorization: Bearer key-of-cleo' -d '{"model":"small","max_tokens":4000,"messages":[]}' http://127.0.0.1:3000/v1/chat/completions   → 200
//   curl -i -H 'authorization: Bearer key-of-cleo' -d '{"model":"large","max_tokens":497,"messages":[]}' http://127.0.0.1:3000/v1/chat/completions   → 429; "code":"tokens-per-minute"; x-should-retry: true; retry-after: 60
//   curl -i -H 'authorization: Bearer key-of-cleo' -d '{"model":"large","max_tokens":4000,"messages":[]}' http://127.0.0.1:3000/v1/chat/completions   → 429; it can never fit; x-should-retry: false; retry-after: none
//   curl -i -H 'authorization: Bearer nobody' -d '{"model":"small","messages":[]}' http://127.0.0.1:3000/v1/chat/completions   → 401

import { once } from "node:events"
import { fileURLToPath } from "node:url"
import express from "express"
import { rateLimit } from "sluice/express"
import { createRuleEngine, fileRules } from "sluice/rules"
import { startModel } from "./model.mjs"

const rules = await fileRules(process.env.RULES ?? fileURLToPath(new URL("rules.yaml", import.meta.url)))
const engine = createRuleEngine({ rules })
const model = process.env.MODEL_URL ?? (await startModel(Number(process.env.WORD_MS ?? 0))).url

/** Whose key it is. A real service has a table. */
const users = new Map(["ada", "bob", "cleo"].map((user) => [`Bearer key-of-${user}`, user]))
const userOf = (/** @type {express.Request} */ { headers }) => users.get(headers.authorization ?? "")

const app = express()
app.use((request, response, next) => {
  if (userOf(request) === undefined) response.status(401).json({ error: { code: "key-unknown" } })
  else next()
})
// Rules read the body, so it has to be parsed before. curl -d sends it with the content type of a form.
app.use(express.json({ type: () => true, limit: "1mb" }))

app.post(
  "/v1/chat/completions",
  rateLimit({ engine, user: userOf, onDenied: (_, response, decision) => deny(response, decision) }),
  async (request, response) => {
    const decision = /** @type {import("sluice/rules").RuleDecision} */ (request.rateLimit)
    const gone = new AbortController()
    response.once("close", () => gone.abort())
    // A stream reports its usage only if it is asked to.
    const usage = request.body.stream === true ? { stream_options: { include_usage: true } } : {}
    let reader
    let status = 502
    let isComplete = false
    try {
      const answer = await fetch(`${model}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ ...request.body, ...usage }),
        signal: gone.signal,
      })
      status = answer.status
      const contentType = answer.headers.get("content-type")
      reader = engine.responseReader(decision, contentType)
      response.status(status)
      if (contentType !== null) response.setHeader("content-type", contentType)
      for await (const piece of answer.body ?? []) {
        reader?.write(piece)
        if (!response.write(piece)) await once(response, "drain", { signal: gone.signal })
      }
      isComplete = true
    } catch {
      // The user has left, or the model has failed.
      if (!response.headersSent) response.status(status)
    }
    // Before the response ends: then the middleware settles what nobody has settled, and frees the place of the call.
    await engine.settle(decision, {
      status: gone.signal.aborted ? undefined : status,
      usage: reader?.end(isComplete),
    })
    if (isComplete || !response.headersSent) response.end()
    else response.destroy()
  },
)

/** What a user has used. It charges nothing. */
app.get("/usage", async (request, response) => {
  const asked = { method: "POST", path: "/v1/chat/completions", user: userOf(request) }
  const { rules } = await engine.peek(asked)
  const limits = rules.flatMap(({ limits }) => limits)
  response.json(Object.fromEntries(limits.map(({ name, used, limit }) => [name, { used, limit }])))
})

/**
 * Says which limit denied the call, when to come back, and whether that makes sense.
 * @param {express.Response} response
 * @param {import("sluice/express").RequestDecision} decision
 */
function deny(response, decision) {
  const code = ("limitName" in decision ? decision.limitName : undefined) ?? "rate-limit"
  const isNever = decision.retryAfterMs === Number.POSITIVE_INFINITY
  // A place is free when a call of the same user ends: soon, and not when it expires.
  const seconds = code === "calls-at-once" ? 1 : Math.ceil(decision.retryAfterMs / 1_000)
  const isWorthIt = !isNever && code !== "monthly-budget"
  const when = isNever ? "it can never fit" : `try again in ${seconds} s`
  response.setHeader("x-should-retry", String(isWorthIt))
  if (!isNever) response.setHeader("retry-after", String(seconds))
  response.status(429).json({
    error: {
      type: "rate_limit_error",
      code,
      message: `the limit ${code} denies this call: ${when}`,
      retry_after_seconds: isNever ? null : seconds,
    },
  })
}

const port = Number(process.env.PORT ?? 3000)
app.listen(port, "127.0.0.1", () => {
  console.log(`listening on http://127.0.0.1:${port}`)
})
