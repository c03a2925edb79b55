// What h2spec and a server send each other, as lines of text.

import { readFileSync } from "node:fs"

/** Bytes that the client sends, once it has received so many frames other than DATA, and so many bytes of DATA. */
export interface Step {
  readonly afterFrames: number
  readonly afterData: number
  readonly bytes: Buffer
}

export interface Conversation {
  /** `http2` is the server with a small application, `grpc` the listener for Envoy. */
  readonly server: string
  /** What h2spec calls the case: `http2/5.1.1/2`. */
  readonly id: string
  readonly title: string
  readonly steps: readonly Step[]
  /** What the server sends, a line for each stream, and whether it closes the connection. */
  readonly reaction: readonly string[]
}

export const FIXTURE: URL = new URL("conversations.txt", import.meta.url)

const HEAD = [
  "# h2spec 2.2.1 --strict, the cases that pass: npm run test:h2spec -- --record",
  "# <server> <case> <title>",
  "# > <frames> <bytes of DATA> <bytes to send once so much has come; (61*9) is nine times 61>",
  "# < <stream, or the first and last of those with the same> <what the server says on it>, or: open, or: closed",
]

export function format(conversations: readonly Conversation[]): string {
  const lines = [...HEAD]
  for (const { server, id, title, steps, reaction } of conversations) {
    lines.push("", `${server} ${id} ${title}`)
    for (const { afterFrames, afterData, bytes } of steps)
      lines.push(`> ${afterFrames} ${afterData} ${formatBytes(bytes)}`)
    for (const line of reaction) lines.push(`< ${line}`)
  }
  return `${lines.join("\n")}\n`
}

export function parse(text: string): Conversation[] {
  return text
    .split("\n\n")
    .slice(1)
    .map((block) => {
      const [head = "", ...lines] = block.trimEnd().split("\n")
      const [server = "", id = "", ...title] = head.split(" ")
      const steps = lines
        .filter((line) => line.startsWith("> "))
        .map((line) => {
          const [, frames, data, bytes = ""] = line.split(" ")
          return { afterFrames: Number(frames), afterData: Number(data), bytes: parseBytes(bytes) }
        })
      const reaction = lines.filter((line) => line.startsWith("< ")).map((line) => line.slice(2))
      return { server, id, title: title.join(" "), steps, reaction }
    })
}

export function readConversations(): Conversation[] {
  return parse(readFileSync(FIXTURE, "utf8"))
}

/** Units that come again at least this often are counted; h2spec fills with one letter, which Huffman makes seven bits of. */
const LEAST_TIMES = 8
const MAX_UNIT = 7

function formatBytes(bytes: Buffer): string {
  let text = ""
  for (let at = 0; at < bytes.length; ) {
    const { unit, times } = repeatedAt(bytes, at)
    const hex = bytes.toString("hex", at, at + unit)
    text += times < LEAST_TIMES ? bytes.toString("hex", at, at + 1) : `(${hex}*${times})`
    at += times < LEAST_TIMES ? 1 : unit * times
  }
  return text
}

function repeatedAt(bytes: Buffer, at: number): { unit: number; times: number } {
  let best = { unit: 1, times: 1 }
  for (let unit = 1; unit <= MAX_UNIT; unit++) {
    const first = bytes.subarray(at, at + unit)
    let times = 1
    while (bytes.subarray(at + times * unit, at + (times + 1) * unit).equals(first)) times++
    if (times >= LEAST_TIMES && unit * times > best.unit * best.times) best = { unit, times }
  }
  return best
}

function parseBytes(text: string): Buffer {
  const hex = text.replace(/\((\w+)\*(\d+)\)/g, (_, unit, times) => unit.repeat(Number(times)))
  return Buffer.from(hex, "hex")
}
