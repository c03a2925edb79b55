import type { DeniedAnswer, Passage } from "../core/passage.js"

const NO_HEADERS: readonly string[] = []
const LAST = Symbol.for("sluice.headers")

/** Remembers what the response is to show. Of several gates the last counts: its headers hold those of the others. */
export function noteHeaders(request: object, headers: readonly string[]): void {
  if (headers.length > 0) (request as { [LAST]?: readonly string[] })[LAST] = headers
}

export function notedHeaders(request: object): readonly string[] {
  return (request as { [LAST]?: readonly string[] })[LAST] ?? NO_HEADERS
}

/** The response with these headers: the same one, or a copy where its own cannot be changed, as after `fetch`. */
export function withHeaders(response: Response, headers: readonly string[]): Response {
  if (headers.length === 0) return response
  try {
    setHeaders(response, headers)
    return response
  } catch {
    return copyWith(response, headers)
  }
}

function copyWith(response: Response, headers: readonly string[]): Response {
  try {
    const copy = new Response(response.body, response)
    setHeaders(copy, headers)
    return copy
  } catch {
    // A protocol switch cannot be copied, nor can an answer that was read already. It matters more than its headers.
    return response
  }
}

function setHeaders(response: Response, list: readonly string[]): void {
  const { headers } = response
  for (let i = 0; i < list.length; i += 2) headers.set(list[i] as string, list[i + 1] as string)
}

export function deniedResponse(answer: DeniedAnswer, list: readonly string[]): Response {
  const headers: Record<string, string> = { "content-type": answer.contentType }
  for (let i = 0; i < list.length; i += 2) headers[list[i] as string] = list[i + 1] as string
  return new Response(answer.body, { status: answer.status, headers })
}

/** For a client that went away while it was held: nobody reads it. The status is the one that nginx logs. */
export function goneResponse(): Response {
  return new Response(null, { status: 499 })
}

/** Tells the passage when the client goes away. Returns a function that stops listening. */
export function settleAtAbort(passage: Pick<Passage, "settle">, signal: AbortSignal): () => void {
  const onAbort = (): void => passage.settle("aborted")
  if (signal.aborted) onAbort()
  else signal.addEventListener("abort", onAbort, { once: true })
  return () => signal.removeEventListener("abort", onAbort)
}
