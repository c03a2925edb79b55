// The key of a request when a limiter decides. With a rule engine, the rules say what the key is.

import { SluiceError } from "../../errors.js"
import { clientIpFrom } from "../../request/address/client-ip.js"
import { AddressKeys } from "../../request/address/ip-key.js"
import type { TrustedProxies } from "../../request/address/trust-proxy.js"
import { headerForm, UNCLEAR } from "../../request/credential-form.js"
import { hasCopies, headerOf } from "../../request/header-source.js"
import { comparedHost, hasTwoHosts } from "../../request/host.js"
import { hostOf, type RequestReader } from "./request-reader.js"

/** The parts that a key may have. Others that rules know (`apiKey`, `query`, `cookie`, `param`) need a rule engine. */
export type KeyBy = "ip" | "user" | "method" | "host" | "route" | "global" | `header:${string}`

/** How to find a client's address. */
export interface ClientAddress<Request> {
  readonly reader: RequestReader<Request>
  /** Undefined when the framework's own settings apply. */
  readonly trusted: TrustedProxies | undefined
}

/** Returns the client's address: behind trusted proxies, the one that they forward. */
export function ipOf<Request>(
  { reader, trusted }: ClientAddress<Request>,
  request: Request,
): string | undefined {
  if (trusted === undefined) return reader.ip === undefined ? reader.peer(request) : reader.ip(request)
  const peer = reader.peer(request)
  if (!trusted.any) return peer
  const headers = reader.headers(request)
  return clientIpFrom(peer, (name) => headerOf(headers, name), trusted)
}

/** Keys by address, the same as those of rules: `ip:203.0.113.7`, `ip:2001:db8:1:2::/64`. */
export class IpKeys<Request> {
  readonly #address: ClientAddress<Request>
  readonly #keys: AddressKeys

  constructor(address: ClientAddress<Request>, ipv6Subnet: number | undefined) {
    this.#address = address
    this.#keys = new AddressKeys(ipv6Subnet)
  }

  keyOf(request: Request): string {
    const ip = ipOf(this.#address, request)
    // Requests over a Unix socket have no address. They share one key: too strict a limit is noticed, a missing one is not.
    return (ip === undefined ? undefined : this.#keys.of(ip)) ?? "ip:unknown"
  }
}

/** Takes the place of a key when the request has one of its parts more than once. */
export class AmbiguousKey {
  /** What the client must change: `header x-tenant must be given once`. */
  readonly ambiguous: string

  constructor(ambiguous: string) {
    this.ambiguous = ambiguous
  }
}

/**
 * Reads one part of a key, such as the value of `header:x-tenant`. Returns undefined if the request has none. `user` is who
 * the application says has sent the request.
 */
type KeyPart<Request> = (request: Request, user: string | undefined) => string | AmbiguousKey | undefined

/** Returns a function that builds the key of a request. It returns undefined when the request lacks a part. */
export function compileKeyBy<Request>(
  keyBy: KeyBy | readonly KeyBy[],
  reader: RequestReader<Request>,
  ips: IpKeys<Request>,
  knowsUser: boolean,
): KeyPart<Request> {
  const words = (Array.isArray(keyBy) ? keyBy : [keyBy]) as readonly KeyBy[]
  if (words.length === 0) throw wrongWord(keyBy)
  const parts = words.map((word) => keyPart(word, reader, ips, knowsUser))
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return only
  return (request, user) => {
    let key = ""
    for (const part of parts) {
      const text = part(request, user)
      if (typeof text !== "string") return text
      // The separator is escaped inside the parts: `a,b` and `c` differ from `a` and `b,c`.
      key += `${key === "" ? "" : ","}${text.replaceAll("%", "%25").replaceAll(",", "%2C")}`
    }
    return key
  }
}

function keyPart<Request>(
  word: KeyBy,
  reader: RequestReader<Request>,
  ips: IpKeys<Request>,
  knowsUser: boolean,
): KeyPart<Request> {
  if (word === "ip") return (request) => ips.keyOf(request)
  if (word === "global") return () => "global"
  if (word === "method") return (request) => labelled("method", reader.method(request).toUpperCase())
  if (word === "host") return (request) => hostKey(reader, request)
  if (word === "route") return (request) => labelled("route", reader.route?.(request))
  if (word === "user") {
    if (!knowsUser) {
      throw new SluiceError("OPTION_MISSING", {
        place: "rateLimit.user",
        expected: 'is required by keyBy "user": a function that returns the authenticated user of a request',
      })
    }
    return (_request, user) => labelled("user", user)
  }
  const name = /^header:([\w!#$%&'*+.^`|~-]+)$/.exec(word)?.[1]?.toLowerCase()
  if (name === undefined) throw wrongWord(word)
  return (request) => headerKey(reader, request, name)
}

function hostKey<Request>(
  reader: RequestReader<Request>,
  request: Request,
): string | AmbiguousKey | undefined {
  if (hasTwoHosts(reader.rawHeaders(request))) return new AmbiguousKey("header host must be given once")
  const host = hostOf(reader, request)
  return labelled("host", host === undefined ? undefined : comparedHost(host))
}

function headerKey<Request>(
  reader: RequestReader<Request>,
  request: Request,
  name: string,
): string | AmbiguousKey | undefined {
  const headers = reader.headers(request)
  if (hasCopies(headers, reader.rawHeaders(request), name))
    return new AmbiguousKey(`header ${name} must be given once`)
  const value = headerOf(headers, name)
  if (value === undefined) return undefined
  const form = headerForm(name, value)
  if (form === UNCLEAR) return new AmbiguousKey(`header ${name} must be given in one spelling`)
  return labelled(`header:${name}`, form)
}

function labelled(label: string, value: string | undefined): string | undefined {
  return value === undefined || value === "" ? undefined : `${label}:${value}`
}

function wrongWord(found: unknown): SluiceError {
  return new SluiceError("OPTION_TYPE", {
    place: "rateLimit.keyBy",
    expected: "must be ip, user, method, host, route, global, header:… with a name, or a list of these",
    found,
  })
}
