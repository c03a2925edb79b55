// Who a request is counted as, when no rule engine says so.

import { SluiceError } from "../../errors.js"
import { AddressKeys } from "../../request/address/address-keys.js"
import { clientIp } from "../../request/address/client-ip.js"
import type { TrustedProxies } from "../../request/address/trust-proxy.js"
import { authorizationForm, trimmed, UNCLEAR } from "../../request/credential-form.js"
import { hasCopies, headerOf } from "../../request/header-source.js"
import { comparedHost, hasTwoHosts } from "../../request/host.js"
import { hostOf, type RequestReader } from "./request-reader.js"

/** What a key may be made of. What rules know besides (`apiKey`, `query`, `cookie`, `param`) needs a rule engine. */
export type KeyBy = "ip" | "user" | "method" | "host" | "route" | "global" | `header:${string}`

export interface IpReading<Request> {
  readonly reader: RequestReader<Request>
  /** Undefined: the framework's own settings count. */
  readonly trusted: TrustedProxies | undefined
}

/** The address of the client. */
export function ipOf<Request>({ reader, trusted }: IpReading<Request>, request: Request): string | undefined {
  if (trusted === undefined) return reader.ip === undefined ? reader.peer(request) : reader.ip(request)
  const peer = reader.peer(request)
  if (!trusted.any) return peer
  const headers = reader.headers(request)
  const isForwarded = trusted.header === "forwarded"
  return clientIp(
    {
      peer,
      forwarded: isForwarded ? headerOf(headers, "forwarded") : undefined,
      xForwardedFor: isForwarded ? undefined : headerOf(headers, "x-forwarded-for"),
    },
    trusted,
  )
}

/** `ip:203.0.113.7`, `ip:2001:db8:1:2::/64`: keys as rules have them. */
export class IpKeys<Request> {
  readonly #reading: IpReading<Request>
  readonly #keys: AddressKeys

  constructor(reading: IpReading<Request>, ipv6Subnet: number | undefined) {
    this.#reading = reading
    this.#keys = new AddressKeys(ipv6Subnet)
  }

  keyOf(request: Request): string {
    const ip = ipOf(this.#reading, request)
    // Requests without an address, over a Unix socket, are counted together: limited too much is noticed, not at all is not.
    return (ip === undefined ? undefined : this.#keys.of(ip)) ?? "ip:unknown"
  }
}

/** What stands for a key that cannot be told, because the request has a part of it more than once. */
export class AmbiguousKey {
  /** What must change: `header x-tenant must be given once`. */
  readonly ambiguous: string

  constructor(ambiguous: string) {
    this.ambiguous = ambiguous
  }
}

/** A part of a key: `header:x-tenant` with its value, or undefined if the request has none. */
type KeyPart<Request> = (request: Request) => string | AmbiguousKey | undefined

/** The key by the words of `keyBy`. Undefined when the request lacks a part. */
export function compileKeyBy<Request>(
  keyBy: KeyBy | readonly KeyBy[],
  reader: RequestReader<Request>,
  ips: IpKeys<Request>,
  user: ((request: Request) => string | undefined) | undefined,
): KeyPart<Request> {
  const words = (Array.isArray(keyBy) ? keyBy : [keyBy]) as readonly KeyBy[]
  if (words.length === 0) throw wrongWord(keyBy)
  const parts = words.map((word) => keyPart(word, reader, ips, user))
  const [only] = parts
  if (parts.length === 1 && only !== undefined) return only
  return (request) => {
    let key = ""
    for (const part of parts) {
      const text = part(request)
      if (typeof text !== "string") return text
      // What separates the parts is escaped inside them: `a,b` and `c` are not `a` and `b,c`.
      key += `${key === "" ? "" : ","}${text.replaceAll("%", "%25").replaceAll(",", "%2C")}`
    }
    return key
  }
}

function keyPart<Request>(
  word: KeyBy,
  reader: RequestReader<Request>,
  ips: IpKeys<Request>,
  user: ((request: Request) => string | undefined) | undefined,
): KeyPart<Request> {
  if (word === "ip") return (request) => ips.keyOf(request)
  if (word === "global") return () => "global"
  if (word === "method") return (request) => labelled("method", reader.method(request).toUpperCase())
  if (word === "host") return (request) => hostKey(reader, request)
  if (word === "route") return (request) => labelled("route", reader.route?.(request))
  if (word === "user") {
    if (user === undefined) {
      throw new SluiceError("OPTION_MISSING", {
        place: "rateLimit.user",
        expected: 'is required by keyBy "user": a function of the request that returns who was verified',
      })
    }
    return (request) => labelled("user", user(request))
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
  const isAuthorization = name === "authorization" || name === "proxy-authorization"
  const form = isAuthorization ? authorizationForm(value) : trimmed(value)
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
