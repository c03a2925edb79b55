import type { IncomingMessage } from "node:http"
import { SluiceError } from "sluice"
import { z } from "zod"
import { isObject, MAX_DISCARDED_BYTES, tooLarge } from "../../http/body.js"
import type { SentDocument } from "../../rule-work/rule-checker.js"
import { checkBody } from "./checked.js"
import type { JsonSchema } from "./json.js"
import { type JsonObject, parseChecked } from "./json.js"

/** The body that a route accepts. */
export interface BodySpec<Body> {
  readonly types: readonly string[]
  readonly schema: JsonSchema
  read(bytes: Buffer, type: string): Body
}

const JSON_TYPE = "application/json"
export const YAML_TYPES = ["application/yaml", "application/x-yaml", "text/yaml"]

/** A JSON body that is checked with this schema. */
export function jsonBody<T>(schema: z.ZodType<T>): BodySpec<T> {
  return {
    types: [JSON_TYPE],
    schema: z.toJSONSchema(schema, { io: "input" }) as JsonSchema,
    read: (bytes) => checkBody(schema, parseChecked(bytes)),
  }
}

/** A part of a rule set as JSON. It is checked later, together with the whole set. */
export function partBody(schema: JsonSchema): BodySpec<JsonObject> {
  return { types: [JSON_TYPE], schema, read: readObject }
}

/** A list of parts of a rule set. */
export function listBody(schema: JsonSchema): BodySpec<readonly unknown[]> {
  return {
    types: [JSON_TYPE],
    schema,
    read(bytes) {
      const list = parseChecked(bytes)
      if (Array.isArray(list)) return list
      throw new SluiceError("BODY_FIELD_INVALID", { place: "body", expected: "must be a list", found: list })
    },
  }
}

/** A merge patch, by RFC 7396. */
export function patchBody(schema: JsonSchema): BodySpec<JsonObject> {
  return { types: ["application/merge-patch+json", JSON_TYPE], schema, read: readObject }
}

/** A whole rule set as JSON or YAML. Its content is checked later. */
export function documentBody(schema: JsonSchema): BodySpec<SentDocument> {
  return {
    types: [JSON_TYPE, ...YAML_TYPES],
    schema,
    read: (bytes, type) =>
      YAML_TYPES.includes(type) ? { text: bytes.toString("utf8") } : { value: parseChecked(bytes) },
  }
}

function readObject(bytes: Buffer): JsonObject {
  const value = parseChecked(bytes)
  if (isObject(value)) return value
  throw new SluiceError("BODY_NOT_OBJECT", { place: "body", expected: "must be a JSON object", found: value })
}

/** Reads a body. Rejects if its type is wrong, if it is too large, or if the client goes away. */
export async function readBody<Body>(
  request: IncomingMessage,
  spec: BodySpec<Body>,
  maxBytes: number,
): Promise<Body> {
  const type = checkType(request, spec.types)
  if (Number(request.headers["content-length"] ?? 0) > MAX_DISCARDED_BYTES) throw tooLarge(maxBytes)
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > MAX_DISCARDED_BYTES) throw tooLarge(maxBytes)
    if (size <= maxBytes) chunks.push(chunk)
  }
  if (size > maxBytes) throw tooLarge(maxBytes)
  return spec.read(Buffer.concat(chunks), type)
}

/** Requires a content type, so that what an HTML form can send (`text/plain`, form data) is refused unread. */
export function checkType({ headers }: IncomingMessage, types: readonly string[]): string {
  const [type = ""] = (headers["content-type"] ?? "").toLowerCase().split(";")
  if (types.includes(type.trim())) return type.trim()
  throw new SluiceError("BODY_TYPE_UNSUPPORTED", {
    place: "content-type",
    expected: `must be ${types.join(" or ")}`,
    found: headers["content-type"] ?? "none",
  })
}
