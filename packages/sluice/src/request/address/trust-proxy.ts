import { SluiceError } from "../../errors.js"
import { checkOneOf } from "../../options.js"
import { compileCidrs } from "./cidr.js"

/**
 * Which proxies are believed when they say who asked:
 * - `false` (default): none. The client is whoever is connected.
 * - a number: that many proxies stand in front, always, and nobody can reach the server around them.
 * - addresses, ranges, `"loopback"`, `"private"`, in a list or separated by commas.
 * - a function of the address and its hop, 0 being whoever is connected. The address is `""` on a socket without one.
 *
 * `true` is refused: a client could then write any address it likes. Whoever wants just that writes `() => true`.
 */
export type TrustProxy = false | number | string | readonly string[] | ((ip: string, hop: number) => boolean)

/** The header that counts. Never both: a proxy that sets one of them passes a client's other one on. */
export type ProxyHeader = "x-forwarded-for" | "forwarded"

export interface TrustedProxies {
  readonly header: ProxyHeader
  /** Without any, no header is even looked at. */
  readonly any: boolean
  trusts(ip: string, hop: number): boolean
}

export const noProxies: TrustedProxies = { header: "x-forwarded-for", any: false, trusts: () => false }

export interface TrustProxyOptions {
  /** Default: `x-forwarded-for`. */
  readonly header?: ProxyHeader | undefined
  /** Where the option stands, for error messages. Default: `trustProxy`. */
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
