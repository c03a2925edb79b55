import { SluiceError } from "../../errors.js"
import { checkOneOf } from "../../options.js"
import { compileCidrs } from "./cidr.js"

/**
 * Which proxies are trusted to forward the address of the client:
 * - `false` (default): none. The peer is the client.
 * - a number: every request passes exactly this many proxies, and no client can reach the server directly.
 * - addresses, ranges, `"loopback"`, `"private"`, in a list or separated by commas.
 * - a function of the address and its hop; hop 0 is the peer. The address is `""` on a socket without one.
 *
 * `true` is refused, because any client could then forge its address. `() => true` does that on purpose.
 */
export type TrustProxy = false | number | string | readonly string[] | ((ip: string, hop: number) => boolean)

/** The header that the proxies write. Only one is read: a proxy that writes one of them forwards the other from the client. */
export type ProxyHeader = "x-forwarded-for" | "forwarded"

export interface TrustedProxies {
  readonly header: ProxyHeader
  /** False if no proxy is trusted. No header is read then. */
  readonly any: boolean
  trusts(ip: string, hop: number): boolean
}

export const noProxies: TrustedProxies = { header: "x-forwarded-for", any: false, trusts: () => false }

export interface TrustProxyOptions {
  /** Default: `x-forwarded-for`. */
  readonly header?: ProxyHeader | undefined
  /** The name of the option in error messages. Default: `trustProxy`. */
  readonly place?: string | undefined
}

export function compileTrustProxy(trust: TrustProxy, options: TrustProxyOptions = {}): TrustedProxies {
  const { header = "x-forwarded-for", place = "trustProxy" } = options
  checkOneOf(header, ["x-forwarded-for", "forwarded"], `${place}.header`)
  if (trust === false || trust === 0) return noProxies
  const trusts = trustFunction(trust, place)
  return { header, any: true, trusts }
}

function trustFunction(trust: Exclude<TrustProxy, false>, place: string): TrustedProxies["trusts"] {
  if (typeof trust === "function") return trust
  if (typeof trust === "number" && Number.isInteger(trust) && trust > 0) return (_ip, hop) => hop < trust
  const list = typeof trust === "string" ? trust.split(",").map((entry) => entry.trim()) : trust
  if (Array.isArray(list)) {
    const ranges = compileCidrs(list, place)
    return (ip) => ranges.contains(ip)
  }
  const expected =
    (trust as unknown) === true
      ? 'must say who is trusted: the number of proxies, or their addresses, like 1 or "10.0.0.0/8"; with true any client could pretend to be another'
      : "must be false, the number of proxies, their addresses, or a function"
  throw new SluiceError("TRUST_PROXY_INVALID", { place, expected, found: trust })
}
