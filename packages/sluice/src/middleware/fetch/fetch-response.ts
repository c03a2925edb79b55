import type { Admission, Ending } from "../core/admission.js"
import type { DeniedAnswer } from "../core/denied-answer.js"

const NO_HEADERS: readonly string[] = []
/** Registered globally, so that two copies of the library in one process see each other's headers. */
const HEADERS = Symbol.for("sluice.headers")

interface WithHeaders {
  [HEADERS]?: readonly string[]
}

/**
 * Remembers the headers of a request's response and returns them. Those of a later middleware replace headers of the same name:
 * its rate limit headers include the limits of earlier ones.
 */
export function rememberHeaders(request: object, headers: readonly string[]): readonly string[] {
  const earlier = rememberedHeaders(request)
  const all = earlier.length === 0 ? headers : mergeHeaders(earlier, headers)
  if (all.length > 0) (request as WithHeaders)[HEADERS] = all
  return all
}

function mergeHeaders(earlier: readonly string[], later: readonly string[]): string[] {
  const byName = new Map<string, string>()
  for (const list of [earlier, later]) {
    for (let i = 0; i < list.length; i += 2) byName.set(list[i] as string, list[i + 1] as string)
  }
  return [...byName].flat()
}

export function rememberedHeaders(request: object): readonly string[] {
  return (request as WithHeaders)[HEADERS] ?? NO_HEADERS
}

/** Adds headers to a response. Returns the same response, or a copy if its headers are immutable, as those of `fetch` are. */
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
    // A protocol switch cannot be copied, nor can a response that was read. Send it without the headers.
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

/** The response to a client that left while its request was delayed. Nobody reads it; 499 is the status that nginx logs. */
export function goneResponse(): Response {
  return new Response(null, { status: 499 })
}

/**
 * Returns a response that settles the admission when its body has been sent, has failed or was cancelled. It reads the body no
 * sooner and no faster than whoever sends it. Without a body to wait for, it settles at once and returns the same response.
 */
export function settleAfterBody(
  response: Response,
  method: string,
  settle: (ending: Ending, headers?: Headers) => void,
): Response {
  const { body, status, headers } = response
  if (body === null || method === "HEAD") {
    settle(status, headers)
    return response
  }
  const reader = body.getReader()
  const watched = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) {
            controller.enqueue(value)
            return
          }
          settle(status, headers)
          controller.close()
        } catch (error) {
          settle("error")
          controller.error(error)
        }
      },
      async cancel(reason) {
        settle("aborted")
        await reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(watched, response)
}

/** Settles the admission when the client leaves. Returns a function that stops listening. */
export function settleOnAbort(admission: Pick<Admission, "settle">, signal: AbortSignal): () => void {
  const onAbort = (): void => admission.settle("aborted")
  if (signal.aborted) onAbort()
  else signal.addEventListener("abort", onAbort, { once: true })
  return () => signal.removeEventListener("abort", onAbort)
}
