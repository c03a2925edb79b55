import { isUtf8 } from "node:buffer"
import type { IncomingMessage } from "node:http"
import { SluiceError } from "sluice"

// A client that is still sending would see a broken connection instead of our answer, so a body that is only somewhat
// too large is read to its end and thrown away. Beyond this we hang up.
export const MOST_DISCARDED_BYTES = 4 * 1_048_576

/**
 * Hands over the whole body, or nothing if the client goes away before its end. Throws nothing: what is too large is an
 * error for `failed`. Functions and no promise, because nearly every body comes in one piece, and is then answered at once
 * instead of a few ticks later.
 */
export function readBody(
  request: IncomingMessage,
  mostBytes: number,
  done: (body: Buffer) => void,
  failed: (error: SluiceError) => void,
): void {
  const announced = request.headers["content-length"]
  const expected = announced === undefined ? -1 : Number(announced)
  if (expected > MOST_DISCARDED_BYTES) {
    failed(tooLarge(mostBytes))
    return
  }
  let chunks: Buffer[] | undefined
  let size = 0
  let isDone = false
  const finish = (body: Buffer): void => {
    if (isDone) return
    isDone = true
    if (size > mostBytes) failed(tooLarge(mostBytes))
    else done(body)
  }
  const gather = () => {
    chunks = []
    request.on("end", () => finish(Buffer.concat(chunks as Buffer[])))
  }
  request.on("data", (chunk: Buffer) => {
    size += chunk.length
    if (chunks === undefined) {
      if (size === expected) {
        finish(chunk)
        return
      }
      gather()
    }
    if (size > MOST_DISCARDED_BYTES) finish(EMPTY)
    // What is too large is only counted.
    else if (size <= mostBytes) chunks?.push(chunk)
  })
  // Nobody has to listen for the end of what comes in one piece.
  if (expected <= 0) gather()
}

const EMPTY = Buffer.alloc(0)

export function tooLarge(mostBytes: number): SluiceError {
  return new SluiceError("BODY_TOO_LARGE", { place: "body", expected: `may have ${mostBytes} bytes at most` })
}

/** The body as a JSON object. Whose fields they are is for others to say. */
export function parseObject(body: Buffer, example: string): Record<string, unknown> {
  const value = parseJson(body)
  if (typeof value === "object" && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>
  throw new SluiceError("BODY_NOT_OBJECT", {
    place: "body",
    expected: `must be a JSON object such as ${example}`,
    found: value,
  })
}

export function parseJson(body: Buffer): unknown {
  const text = body.toString("utf8")
  // Bytes that are no text all read as the same character, and two keys would be one.
  if (text.includes("\uFFFD") && !isUtf8(body)) throw notJson("it is not UTF-8")
  try {
    return JSON.parse(text)
  } catch (error) {
    throw notJson(text === "" ? "it is empty" : (error as SyntaxError).message)
  }
}

export function notJson(reason: string): SluiceError {
  return new SluiceError("BODY_INVALID_JSON", { place: "body", expected: `must be JSON: ${reason}` })
}
