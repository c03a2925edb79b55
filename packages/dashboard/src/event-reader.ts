/** One server-sent event. */
export interface SentEvent {
  readonly id: string | undefined
  readonly type: string
  readonly data: string
}

/** Reads server-sent events from text that comes in any pieces. */
export class EventReader {
  #rest = ""

  read(text: string): SentEvent[] {
    const blocks = (this.#rest + text).split(/\r?\n\r?\n/)
    this.#rest = blocks.pop() ?? ""
    return blocks.flatMap((block) => eventIn(block) ?? [])
  }
}

/** Undefined for a block that only says that somebody is there. */
function eventIn(block: string): SentEvent | undefined {
  let id: string | undefined
  let type = "message"
  const data: string[] = []
  for (const line of block.split(/\r?\n/)) {
    const [, field, value = ""] = /^([a-z]+)(?:: ?(.*))?$/.exec(line) ?? []
    if (field === "id") id = value
    else if (field === "event") type = value
    else if (field === "data") data.push(value)
  }
  return data.length === 0 ? undefined : { id, type, data: data.join("\n") }
}
