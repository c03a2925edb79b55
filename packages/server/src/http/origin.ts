// Refuses requests that a page of another site makes a user's browser send. The API uses no cookies, but without tokens it trusts
// every program on this machine, and the browser is one of them.

import type { IncomingHttpHeaders } from "node:http"
import { isIP } from "node:net"
import { SluiceError } from "sluice"
import { compileCidrs } from "sluice/http"

/** The parts of a request that tell who sent it. */
export interface SentRequest {
  readonly method?: string | undefined
  readonly headers: Readonly<IncomingHttpHeaders>
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** Throws for a request that a page of another site sends. */
export function checkOrigin({ headers, method }: SentRequest): void {
  const { origin, host } = headers
  if (origin !== undefined && hostOf(origin) !== host?.toLowerCase())
    throw refused("origin", "must be that of this service", origin)
  const site = headers["sec-fetch-site"]
  if (site !== "cross-site" && site !== "same-site") return
  // Following a link to a page is allowed.
  if (headers["sec-fetch-mode"] === "navigate" && (method === "GET" || method === "HEAD")) return
  throw refused("sec-fetch-site", "must be same-origin", site)
}

/**
 * Throws for a request that does not come from this machine, for use where there are no tokens. Checks the Host header too: a site
 * can make its name resolve to 127.0.0.1 after its page is loaded (DNS rebinding), and stays the same site for the browser.
 */
export function checkLocal({ headers, socket }: SentRequest, tokens = "tokens"): void {
  const { host = "" } = headers
  if (!isLoopback(host.replace(/:\d*$/, "")))
    throw refused("host", `must be localhost or a loopback address as long as there are no ${tokens}`, host)
  if (!isLoopback(socket.remoteAddress ?? ""))
    throw refused(
      "address",
      `must be a loopback address as long as there are no ${tokens}`,
      socket.remoteAddress,
    )
  const forwarded = FORWARDED.find((name) => headers[name] !== undefined)
  if (forwarded !== undefined)
    throw refused(forwarded, "says that a proxy was asked by somebody else, which needs a token", undefined)
}

/**
 * Throws for a request that a page in a browser sends to the check API, unless the page is the service's own. Programs send none
 * of these headers, and may use any name for the service. (`sec-fetch-mode` does not indicate a page: Node's `fetch` sends it.)
 */
export function checkPage(request: SentRequest, allowedHosts: readonly string[]): void {
  const { origin, referer, host = "", "sec-fetch-site": site } = request.headers
  if (origin === undefined && referer === undefined && site === undefined) return
  checkOrigin(request)
  if (origin === undefined && referer !== undefined && hostOf(referer) !== host.toLowerCase())
    throw refused("referer", "must be a page of this service", referer)
  // DNS rebinding: such a site is the same origin for the browser.
  const name = host.replace(/:\d*$/, "").toLowerCase()
  if (isLoopback(name) || isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0 || allowedHosts.includes(name)) return
  throw refused(
    "host",
    "must be an address, localhost or one of http.allowedHosts in a request of a page",
    host,
  )
}

const loopback = compileCidrs(["loopback"], "loopback")

/** Whether an address, or the host of a URL, is a loopback address or localhost. */
export function isLoopback(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, "$1").toLowerCase()
  // Browsers resolve .localhost to loopback without asking a name server.
  return address === "localhost" || address.endsWith(".localhost") || loopback.contains(address)
}

/** Headers that proxies add. Their absence proves nothing: some proxies add none. */
const FORWARDED = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
]

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host
  } catch {
    return undefined
  }
}

function refused(place: string, expected: string, found: string | undefined): SluiceError {
  return new SluiceError("ORIGIN_REFUSED", { place, expected, ...(found === undefined ? {} : { found }) })
}
