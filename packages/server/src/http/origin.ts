// A page of another site, open in the browser of somebody who may use this API, must not use it for them. Nothing here is
// kept in cookies, but without tokens whoever runs on this machine is believed, and the browser does.

import type { IncomingHttpHeaders } from "node:http"
import { isIP } from "node:net"
import { SluiceError } from "sluice"
import { isLoopback } from "./loopback.js"

/** The parts of a request that tell who sent it. */
export interface SentRequest {
  readonly method?: string | undefined
  readonly headers: Readonly<IncomingHttpHeaders>
  readonly socket: { readonly remoteAddress?: string | undefined }
}

/** Refuses what a page of another site sends. */
export function checkOrigin({ headers, method }: SentRequest): void {
  const { origin, host } = headers
  if (origin !== undefined && hostOf(origin) !== host?.toLowerCase())
    throw refused("origin", "must be that of this service", origin)
  const site = headers["sec-fetch-site"]
  if (site !== "cross-site" && site !== "same-site") return
  // Following a link to a page is fine.
  if (headers["sec-fetch-mode"] === "navigate" && (method === "GET" || method === "HEAD")) return
  throw refused("sec-fetch-site", "must be same-origin", site)
}

/**
 * Refuses what does not come from this machine itself, for when that is all there is to go by. The name in `host` is looked
 * at because a site can have its name resolve to 127.0.0.1 once its page is loaded (DNS rebinding): for the browser it is
 * still the same site.
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
 * Refuses what a page in a browser sends to the check API, unless the page is this service's own. Programs send none of
 * these headers, and whatever name they use for the service is right. (`sec-fetch-mode` is no sign of a page: Node's own
 * `fetch` sends it.)
 */
export function checkPage(request: SentRequest, allowedHosts: readonly string[]): void {
  const { origin, referer, host = "", "sec-fetch-site": site } = request.headers
  if (origin === undefined && referer === undefined && site === undefined) return
  checkOrigin(request)
  if (origin === undefined && referer !== undefined && hostOf(referer) !== host.toLowerCase())
    throw refused("referer", "must be a page of this service", referer)
  // A site whose name resolves to this machine once its page is loaded is the same origin for the browser.
  const name = host.replace(/:\d*$/, "").toLowerCase()
  if (isLoopback(name) || isIP(name.replace(/^\[(.*)\]$/, "$1")) !== 0 || allowedHosts.includes(name)) return
  throw refused(
    "host",
    "must be an address, localhost or one of http.allowedHosts in a request of a page",
    host,
  )
}

/** What proxies add. Some add nothing, so that none of them is no proof. */
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
