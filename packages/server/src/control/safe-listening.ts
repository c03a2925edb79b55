import { SluiceError } from "sluice"
import { compileCidrs } from "sluice/http"
import type { TokenSpec } from "./tokens.js"

const loopback = compileCidrs(["loopback"], "loopback")

/** Whether an address, or the host part of a URL, is this machine's own. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, "$1").toLowerCase()
  // .localhost too: browsers never ask a name server for it.
  return address === "localhost" || address.endsWith(".localhost") || loopback.contains(address)
}

/** Refuses to let everybody edit the rules: without tokens, only this machine may connect. */
export function assertSafeToListen(host: string, tokens: readonly TokenSpec[]): void {
  if (tokens.length > 0 || isLoopback(host)) return
  throw new SluiceError("LISTEN_UNSAFE", {
    place: "control.host",
    expected: "must be a loopback address as long as there are no control.tokens",
    found: host,
  })
}
