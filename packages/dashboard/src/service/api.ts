// Requests to the control plane. Every failure is a Problem. A rejected token leads to the sign-in.

import { Problem, unreachable } from "./problem.js"
import { signOut, token } from "./session.js"

export interface Reply<Data> {
  readonly data: Data
  readonly status: number
  /** The etag of the rules that the answer is about. */
  readonly etag: string | undefined
}

export interface Sending {
  /** Text and bytes are sent unchanged, everything else as JSON. */
  readonly body?: unknown
  /** Default: application/json. */
  readonly type?: string
  /** The etag that a change is based on. */
  readonly ifMatch?: string
  readonly accept?: string
  /** The id of the last live event that the page received. */
  readonly lastEventId?: string
  readonly signal?: AbortSignal
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

/** Sends a request and reads the answer: `ask("GET", "rules")`, `ask("PATCH", path("rules", id), { body, ifMatch })`. */
export async function ask<Data>(
  method: Method,
  address: string,
  sending: Sending = {},
): Promise<Reply<Data>> {
  const response = await request(method, address, sending)
  const etag = response.headers.get("etag") ?? undefined
  const text = await response.text()
  const isJson = response.headers.get("content-type")?.includes("json") === true
  const data = isJson && text !== "" ? JSON.parse(text) : text
  return { data, status: response.status, etag }
}

/** Sends a request and returns the response, for answers that are read as a stream. */
export async function request(method: Method, address: string, sending: Sending = {}): Promise<Response> {
  const { body, ifMatch, accept, lastEventId, signal, type = "application/json" } = sending
  const headers = new Headers()
  if (token.value !== undefined) headers.set("authorization", `Bearer ${token.value}`)
  if (body !== undefined) headers.set("content-type", type)
  if (ifMatch !== undefined) headers.set("if-match", ifMatch)
  if (accept !== undefined) headers.set("accept", accept)
  if (lastEventId !== undefined) headers.set("last-event-id", lastEventId)
  let response: Response
  try {
    response = await fetch(new URL(address, document.baseURI), {
      method,
      headers,
      cache: "no-store",
      ...(body === undefined ? {} : { body: encoded(body) }),
      ...(signal === undefined ? {} : { signal }),
    })
  } catch (cause) {
    if (signal?.aborted) throw cause
    throw unreachable(cause)
  }
  if (response.ok) return response
  const problem = await problemOf(response)
  if (problem.status === 401) signOut("refused")
  throw problem
}

/** A relative address from parts, which it encodes: `path("keys", rule, key)`. */
export function path(...parts: readonly string[]): string {
  return parts.map(encodeURIComponent).join("/")
}

function encoded(body: unknown): BodyInit {
  if (typeof body === "string" || body instanceof Blob || body instanceof ArrayBuffer) return body
  return JSON.stringify(body)
}

async function problemOf(response: Response): Promise<Problem> {
  const etag = response.headers.get("etag") ?? undefined
  const text = await response.text().catch(() => "")
  try {
    return new Problem(response.status, JSON.parse(text), etag)
  } catch {
    // A proxy may answer with something other than a problem.
    return new Problem(response.status, { detail: `${response.status} ${response.statusText}` }, etag)
  }
}
