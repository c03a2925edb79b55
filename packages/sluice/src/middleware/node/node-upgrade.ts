import { type IncomingMessage, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import type { Gate } from "../core/admission.js"
import type { DeniedAnswer, Passage } from "../core/passage.js"
import type { WithRateLimit } from "./node-middleware.js"

export type UpgradeHandler = (
  request: IncomingMessage & WithRateLimit,
  socket: Duplex,
  head: Buffer,
) => unknown

/** What is answered when a function of the application's throws. */
export type OnUpgradeError = (error: unknown, request: IncomingMessage) => DeniedAnswer

/** A listener for `upgrade` that answers a denied request on its socket, and hands the others on. */
export function limitUpgrade(
  gate: Gate<IncomingMessage>,
  handler: UpgradeHandler,
  onError: OnUpgradeError,
): (request: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const decide = async (request: IncomingMessage, socket: Duplex): Promise<boolean> => {
    const passage = await gate.pass(request)
    if (passage === undefined) return true
    ;(request as WithRateLimit).rateLimit = passage.decision
    const { denied } = passage
    if (denied !== undefined) {
      answer(socket, denied, passage.headers)
      return false
    }
    if (passage.delayMs > 0 && !(await holdSocket(passage, socket))) return false
    // What becomes of the connection is nobody's answer any more; being switched over is.
    passage.settle(101)
    return true
  }
  return (request, socket, head) => {
    // An upgraded socket has nobody who listens: without this a reset while we wait would end the process.
    const onSocketError = (): void => undefined
    socket.on("error", onSocketError)
    decide(request, socket).then(
      (isPassed) => {
        if (!isPassed) return
        socket.removeListener("error", onSocketError)
        handler(request, socket, head)
      },
      (error: unknown) => answer(socket, onError(error, request), []),
    )
  }
}

function answer(socket: Duplex, denied: DeniedAnswer, headers: readonly string[]): void {
  const { status, contentType, body } = denied
  const all = [
    ...headers,
    ...["content-type", contentType],
    ...["content-length", String(Buffer.byteLength(body))],
    ...["connection", "close"],
  ]
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "Denied"}\r\n`
  for (let i = 0; i < all.length; i += 2) text += `${all[i]}: ${all[i + 1]}\r\n`
  socket.end(`${text}\r\n${body}`, () => socket.destroy())
}

async function holdSocket(passage: Passage<IncomingMessage>, socket: Duplex): Promise<boolean> {
  const gone = new AbortController()
  const onGone = (): void => gone.abort()
  if (socket.destroyed) onGone()
  socket.on("close", onGone).on("end", onGone)
  try {
    const isDue = await passage.hold(gone.signal)
    if (!isDue) socket.destroy()
    return isDue
  } finally {
    socket.removeListener("close", onGone).removeListener("end", onGone)
  }
}
