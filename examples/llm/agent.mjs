// An agent that calls the service and does what its denials say:
// - it waits as long as Retry-After says, and a little more, so that agents that wait for the same limit do not come back at once;
// - without Retry-After, after a failure of the server, it waits twice as long each time;
// - it does not repeat a call with `x-should-retry: false`: the budget of the month is gone, or the call can never fit.
//
// Start the server, and then in another terminal: node examples/llm/agent.mjs 3

import { setTimeout as sleep } from "node:timers/promises"

const url = process.env.SERVICE_URL ?? "http://127.0.0.1:3000"
const key = process.env.API_KEY ?? "key-of-ada"
const MAX_TRIES = 5
const MAX_WAIT_MS = 60_000

class GaveUp extends Error {}

/** @param {string} content */
async function ask(content) {
  for (let tries = 1; ; tries++) {
    const response = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: process.env.MODEL ?? "small",
        stream: true,
        max_tokens: Number(process.env.MAX_TOKENS ?? 100),
        messages: [{ role: "user", content }],
      }),
    })
    if (response.ok) return wordsOf(await response.text())
    const isRetryable = response.status === 429 || response.status >= 500
    const retryAfter = response.headers.get("retry-after")
    const body = await response.text()
    const reason = /"message":"([^"]+)"/.exec(body)?.[1] ?? `status ${response.status}`
    if (!isRetryable || response.headers.get("x-should-retry") === "false") throw new GaveUp(reason)
    const waitMs = retryAfter === null ? 250 * 2 ** tries : Number(retryAfter) * 1_000
    if (tries === MAX_TRIES || waitMs > MAX_WAIT_MS) throw new GaveUp(reason)
    console.log(`waits: ${reason}`)
    await sleep(waitMs * (1 + Math.random() / 4))
  }
}

/** @param {string} stream */
function wordsOf(stream) {
  const events = [...stream.matchAll(/^data: (\{.+)$/gm)].map(([, data]) => JSON.parse(data ?? ""))
  return events
    .map(({ choices }) => choices[0]?.delta.content ?? "")
    .join("")
    .trim()
}

const questions = Number(process.argv[2] ?? 3)
try {
  for (let i = 1; i <= questions; i++) console.log(`answer ${i}: ${await ask(`question ${i}`)}`)
} catch (error) {
  if (!(error instanceof GaveUp)) throw error
  console.log(`stops: ${error.message}`)
}
