// Answers of models, in the shapes that the documentation of each API shows.

export interface ModelAnswer {
  readonly name: string
  readonly contentType: string
  readonly body: string
  /** The fields that report the usage, and what they say. */
  readonly usage: Readonly<Record<string, number>>
}

function events(...data: readonly (object | string)[]): string {
  return data
    .map((event) => {
      const type = typeof event === "object" && "type" in event ? `event: ${event.type}\n` : ""
      return `${type}data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`
    })
    .join("")
}

const chunk = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1760000000, model: "gpt-4o-mini" }
const chatUsage = { prompt_tokens: 19, completion_tokens: 10, total_tokens: 29 }
const responseOf = (status: string, usage: object | null) => ({
  id: "resp_1",
  object: "response",
  status,
  model: "gpt-5",
  output: status === "completed" ? [{ type: "message", content: [{ type: "output_text", text: "Hi" }] }] : [],
  usage,
})
const responsesUsage = {
  input_tokens: 37,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: 11,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 48,
}

export const answers: readonly ModelAnswer[] = [
  {
    name: "a chat completion of OpenAI",
    contentType: "application/json",
    body: JSON.stringify(
      {
        id: "chatcmpl-1",
        object: "chat.completion",
        model: "gpt-4o-mini",
        choices: [
          { index: 0, message: { role: "assistant", content: 'Say "usage": 1' }, finish_reason: "stop" },
        ],
        usage: { ...chatUsage, completion_tokens_details: { reasoning_tokens: 0 } },
      },
      null,
      2,
    ),
    usage: { "usage.total_tokens": 29 },
  },
  {
    name: "a streamed chat completion of OpenAI with include_usage",
    contentType: "text/event-stream; charset=utf-8",
    body: events(
      { ...chunk, choices: [{ index: 0, delta: { role: "assistant", content: "" } }], usage: null },
      { ...chunk, choices: [{ index: 0, delta: { content: "Grüße 👋" } }], usage: null },
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: null },
      { ...chunk, choices: [], usage: chatUsage },
      "[DONE]",
    ),
    usage: { "usage.prompt_tokens": 19, "usage.completion_tokens": 10, "usage.total_tokens": 29 },
  },
  {
    name: "an answer of OpenAI's Responses API",
    contentType: "application/json",
    body: JSON.stringify(responseOf("completed", responsesUsage)),
    usage: { "usage.input_tokens": 37, "usage.output_tokens": 11 },
  },
  {
    name: "a streamed answer of OpenAI's Responses API",
    contentType: "text/event-stream",
    body: events(
      { type: "response.created", response: responseOf("in_progress", null), sequence_number: 0 },
      { type: "response.output_text.delta", delta: "Hi", sequence_number: 1 },
      { type: "response.completed", response: responseOf("completed", responsesUsage), sequence_number: 2 },
    ),
    usage: { "usage.input_tokens": 37, "usage.output_tokens": 11, "usage.total_tokens": 48 },
  },
  {
    name: "a message of Anthropic",
    contentType: "application/json",
    body: JSON.stringify({
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "Hello!" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 25, output_tokens: 15 },
    }),
    usage: { "usage.input_tokens": 25, "usage.output_tokens": 15 },
  },
  {
    name: "a streamed message of Anthropic",
    contentType: "text/event-stream; charset=utf-8",
    body: events(
      {
        type: "message_start",
        message: { id: "msg_1", type: "message", content: [], usage: { input_tokens: 25, output_tokens: 1 } },
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "ping" },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello!" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 15 } },
      { type: "message_stop" },
    ),
    usage: { "usage.input_tokens": 25, "usage.output_tokens": 15 },
  },
  {
    name: "a streamed chat of Ollama",
    contentType: "application/x-ndjson",
    body: [
      {
        model: "llama3.2",
        created_at: "2025-10-26T17:15:24.09Z",
        message: { role: "assistant", content: "Hi" },
        done: false,
      },
      {
        model: "llama3.2",
        created_at: "2025-10-26T17:15:24.16Z",
        message: { role: "assistant", content: "" },
        done_reason: "stop",
        done: true,
        total_duration: 4353619900,
        prompt_eval_count: 26,
        eval_count: 290,
        eval_duration: 4032296000,
      },
    ]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join(""),
    usage: { prompt_eval_count: 26, eval_count: 290 },
  },
  {
    name: "a chat of Ollama without a stream",
    contentType: "application/json; charset=utf-8",
    body: JSON.stringify({
      model: "llama3.2",
      response: "Hi",
      done: true,
      prompt_eval_count: 26,
      eval_count: 290,
    }),
    usage: { prompt_eval_count: 26, eval_count: 290 },
  },
]
