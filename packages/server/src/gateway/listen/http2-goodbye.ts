import { constants, type ServerHttp2Session } from "node:http2"

const MAX_STREAM_ID = 2 ** 31 - 1

/**
 * Tells a client to go elsewhere, in two steps as RFC 9113 advises: one that is told only once may lose the requests that
 * crossed the message. It has seen the first when it answers the ping behind it.
 */
export function sayGoodbye(session: ServerHttp2Session, lastCallMs: number): void {
  if (session.closed || session.destroyed) return
  const close = (): void => {
    clearTimeout(timer)
    if (!session.closed && !session.destroyed) session.close()
  }
  const timer = setTimeout(close, lastCallMs)
  try {
    session.goaway(constants.NGHTTP2_NO_ERROR, MAX_STREAM_ID)
    session.ping(close)
  } catch {
    close()
  }
}
