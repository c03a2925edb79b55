import { compileCidrs } from "sluice/http"

const loopback = compileCidrs(["loopback"], "loopback")

/** Whether an address, or the host part of a URL, is this machine's own. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, "$1").toLowerCase()
  // .localhost too: browsers never ask a name server for it.
  return address === "localhost" || address.endsWith(".localhost") || loopback.contains(address)
}
