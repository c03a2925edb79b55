import { connect, isIP, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"

/** How the certificate of an https upstream is verified. It is always verified. */
export interface UpstreamTls {
  /** Certificate authorities in PEM, in place of those that Node.js trusts. */
  readonly ca?: string | undefined
  /** The name the certificate must be issued for. Default: the host of the address. */
  readonly serverName?: string | undefined
}

/**
 * Opens a connection. With `read`, the bytes received go to that function and are valid only until it returns; without it,
 * the socket emits `data` events as usual.
 */
export type Dial = (read?: (bytes: Buffer) => void) => Socket

/**
 * One read buffer for all connections; a reader copies what it keeps. With a buffer per read, each read would allocate this
 * size and pass through a stream, although the bytes are nearly always processed before the read returns.
 */
const shared = Buffer.allocUnsafeSlow(65_536)

/** TCP keep-alive detects a peer that vanished without closing the connection. */
const TCP_KEEP_ALIVE_MS = 60_000

/** Returns a `Dial` for an origin such as `https://api.internal:8443`. Certificates are always verified. */
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
    return socket.setNoDelay(true).setKeepAlive(true, TCP_KEEP_ALIVE_MS)
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
