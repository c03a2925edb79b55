import { connect, isIP, type Socket } from "node:net"
import { connect as connectTls } from "node:tls"
import type { UpstreamTls } from "./upstream-tls.js"

/** Starts a new connection. */
export type Dial = () => Socket

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
  return () => {
    const socket = isTls ? connectTls({ host, port, ...tls }) : connect({ host, port })
    return socket.setNoDelay(true).setKeepAlive(true, PROBE_AFTER_MS)
  }
}
