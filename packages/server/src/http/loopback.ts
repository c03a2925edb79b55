import { compileCidrs } from "sluice/http"

const loopback = compileCidrs(["loopback"], "loopback")

/** Whether an address, or the host of a URL, is a loopback address or localhost. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, "$1").toLowerCase()
  // Browsers resolve .localhost to loopback without asking a name server.
  return address === "localhost" || address.endsWith(".localhost") || loopback.contains(address)
}
