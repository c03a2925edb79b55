import type { IncomingMessage } from "node:http"
import { RequestError } from "./problem.js"

export const maxBodyBytes = 64 * 1024

// A client that is still sending would see a broken connection instead of our answer, so a body that is only somewhat
// too large is read to its end and thrown away. Beyond this we hang up.
const maxDiscardedBytes = 1024 * 1024

/** Reads the whole body as a JSON object that has no fields but these. */
export async function readJsonObject<Field extends string>(
  request: IncomingMessage,
  fields: readonly Field[],
): Promise<{ [F in Field]?: unknown }> {
  const value = parse(await readText(request))
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new RequestError(
      "BODY_NOT_OBJECT",
      `expected a JSON object such as {"${fields[0]}": …}, got ${kindOf(value)}`,
    )
  }
  const unknown = Object.keys(value).find((name) => !fields.includes(name as Field))
  if (unknown !== undefined) {
    const known = fields.map((field) => `"${field}"`).join(", ")
    throw new RequestError(
      "BODY_UNKNOWN_FIELD",
      `unknown field ${JSON.stringify(unknown)}: the fields are ${known}`,
    )
  }
  return value
}

async function readText(request: IncomingMessage): Promise<string> {
  const announced = Number(request.headers["content-length"] ?? 0)
  if (announced > maxDiscardedBytes) throw tooLarge()
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxDiscardedBytes) throw tooLarge()
    if (size <= maxBodyBytes) chunks.push(chunk)
  }
  if (size > maxBodyBytes) throw tooLarge()
  return Buffer.concat(chunks).toString("utf8")
}

function tooLarge(): RequestError {
  return new RequestError("BODY_TOO_LARGE", `a body may have ${maxBodyBytes} bytes at most`, {
    connection: "close",
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const reason = text === "" ? "it is empty" : (error as SyntaxError).message
    throw new RequestError("BODY_INVALID_JSON", `the body could not be read as JSON: ${reason}`)
  }
}

function kindOf(value: unknown): string {
  if (value === null) return "null"
  return Array.isArray(value) ? "an array" : `a ${typeof value}`
}
