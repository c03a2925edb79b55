/** One server-sent event. */
export interface ServerEvent {
  readonly id: string | undefined
  readonly type: string
  readonly data: string
}

/** Server-sent events from the body of an answer, until it ends. */
export async function* eventsIn(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  let waiting = ""
  for await (const chunk of body) {
    waiting += decoder.decode(chunk, { stream: true })
    const blocks = waiting.split("\n\n")
    waiting = blocks.pop() ?? ""
    for (const block of blocks) {
      const fields = new Map(block.split("\n").map((line) => splitField(line)))
      const data = fields.get("data")
      if (data !== undefined) yield { id: fields.get("id"), type: fields.get("event") ?? "message", data }
    }
  }
}

function splitField(line: string): [string, string] {
  const colon = line.indexOf(": ")
  return colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 2)]
}
