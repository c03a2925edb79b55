import { type IncomingMessage, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import type { Admission } from "../core/admission.js"
import type { DeniedAnswer } from "../core/denied-answer.js"
import type { RequestLimiter } from "../core/request-limiter.js"
import type { WithDecision, WithRateLimit } from "./node-middleware.js"

export type UpgradeHandler = (
  request: IncomingMessage & WithRateLimit,
  socket: Duplex,
  head: Buffer,
) => unknown

/** Returns the response to send when a function of the application throws. */
type OnUpgradeError = (error: unknown, request: IncomingMessage) => DeniedAnswer

/** Returns a listener for `upgrade` that responds to denied requests on their socket and hands the others to `handler`. */
export function limitUpgrade(
  limiter: RequestLimiter<IncomingMessage>,
  handler: UpgradeHandler,
  onError: OnUpgradeError,
): (request: IncomingMessage, socket: Duplex, head: Buffer) => void {
  const isAdmitted = async (request: IncomingMessage, socket: Duplex): Promise<boolean> => {
    const admission = await limiter.admit(request)
    if (admission === undefined) return true
    ;(request as unknown as WithDecision)[limiter.property] = admission.decision
    const { denied } = admission
    if (denied !== undefined) {
      respond(socket, denied, admission.headers)
      return false
    }
    if (admission.delayMs > 0 && !(await delaySocket(admission, socket))) return false
    admission.upgraded()
    // The response to an upgrade is 101. What happens on the connection afterwards is not part of it, but for a hold.
    if (!admission.holds || socket.destroyed) admission.settle(101)
    else socket.once("close", () => admission.settle(101))
    return true
  }
  return (request, socket, head) => {
    // Nobody else listens to the socket yet: without this a reset while we wait would end the process.
    const onSocketError = (): void => undefined
    socket.on("error", onSocketError)
    isAdmitted(request, socket).then(
      (admitted) => {
        if (!admitted) return
        socket.removeListener("error", onSocketError)
        handler(request, socket, head)
      },
      (error: unknown) => respond(socket, onError(error, request), []),
    )
  }
}

function respond(socket: Duplex, denied: DeniedAnswer, headers: readonly string[]): void {
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

async function delaySocket(admission: Admission<IncomingMessage>, socket: Duplex): Promise<boolean> {
  const gone = new AbortController()
  const onGone = (): void => gone.abort()
  if (socket.destroyed) onGone()
  socket.on("close", onGone).on("end", onGone)
  try {
    const isDue = await admission.delay(gone.signal)
    if (!isDue) socket.destroy()
    return isDue
  } finally {
    socket.removeListener("close", onGone).removeListener("end", onGone)
  }
}
