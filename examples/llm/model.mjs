// A server in place of a model: it streams as OpenAI's chat completions do. It answers with `max_tokens` words, at most 8, and
// counts words as tokens.

import { createServer } from "node:http"
import { json } from "node:stream/consumers"
import { setTimeout as sleep } from "node:timers/promises"

const WORDS = ["water", "flows", "through", "the", "gate", "when", "it", "opens"]

/** Starts the model on a free port. Returns its address, and `close`. `wordMs` is the time that it takes for a word. */
export async function startModel(wordMs = 0) {
  const server = createServer(async (request, response) => {
    const asked = /** @type {any} */ (await json(request))
    if (asked.model === "broken") return void response.writeHead(503).end()
    const words = WORDS.slice(0, asked.max_tokens ?? asked.max_completion_tokens ?? WORDS.length)
    const prompt = asked.messages.map((/** @type {any} */ { content }) => content).join(" ")
    const promptTokens = prompt.split(" ").length
    const usage = {
      prompt_tokens: promptTokens,
      completion_tokens: words.length,
      total_tokens: promptTokens + words.length,
    }
    const answer = { id: "chatcmpl-1", model: asked.model, created: Math.floor(Date.now() / 1000) }
    if (asked.stream !== true) {
      await sleep(wordMs * words.length)
      const message = { role: "assistant", content: words.join(" ") }
      const choices = [{ index: 0, message, finish_reason: "stop" }]
      response.writeHead(200, { "content-type": "application/json" })
      response.end(JSON.stringify({ ...answer, object: "chat.completion", choices, usage }))
      return
    }
    const withUsage = asked.stream_options?.include_usage === true
    const chunk = { ...answer, object: "chat.completion.chunk", ...(withUsage ? { usage: null } : {}) }
    const send = (/** @type {object} */ event) => response.write(`data: ${JSON.stringify(event)}\n\n`)
    response.writeHead(200, { "content-type": "text/event-stream" })
    for (const word of words) {
      await sleep(wordMs)
      send({ ...chunk, choices: [{ index: 0, delta: { content: `${word} ` } }] })
    }
    if (withUsage) send({ ...chunk, choices: [], usage })
    response.end("data: [DONE]\n\n")
  }).listen(0, "127.0.0.1")
  await new Promise((resolve) => server.once("listening", resolve))
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address())
  return { url: `http://127.0.0.1:${port}`, close: () => server.close() }
}
