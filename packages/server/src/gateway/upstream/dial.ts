import { connect, isIP, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import type { UpstreamTls } from "./upstream-tls.js"

/**
 * Starts a new connection. What it reads is told to `read`, where there is one, and valid only until that returns; else it
 * comes as from any other socket.
 */
export type Dial = (read?: (bytes: Buffer) => void) => Socket

/**
 * Where all connections read to, one after the other: what is kept is copied. Else each read would have a buffer of this size
 * of its own, and pass through a stream, for bytes that are nearly always gone when the read returns.
 */
const shared = Buffer.allocUnsafeSlow(65_536)

/** Finds out about a peer that is gone without a word. */
const PROBE_AFTER_MS = 60_000

/** To an origin such as `https://api.internal:8443`. A certificate is always verified. */
export function dialer(origin: string, { ca, serverName }: UpstreamTls = {}): Dial {
  const url = new URL(origin)
  const isTls = url.protocol === "https:"
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1")
  const port = Number(url.port || (isTls ? 443 : 80))
  const servername = serverName ?? (isIP(host) === 0 ? host : undefined)
  const tls = {
    ...(ca === undefined ? {} : { ca }),
    ...(servername === undefined ? {} : { servername }),
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: true,
  }
  return (read) => {
    const reading = read === undefined ? {} : { onread: intoShared(read) }
    const socket = isTls
      ? connectTls({ host, port, ...tls, ...reading })
      : connect({ host, port, ...reading })
    return socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER_MS)
  }
}

function intoShared(read: (bytes: Buffer) => void) {
  return {
    buffer: shared,
    callback: (length: number) => {
      read(shared.subarray(0, length))
      return true
    },
  }
}
