// Finds the address of the client behind proxies. Every proxy appends the address that it saw to a header. So the header is read
// from right to left, as long as the proxy that wrote the entry is trusted. A client can forge everything further left.

import type { ForwardedElement } from "./forwarded.js"
import { elementStart, hopAddress, parseElement } from "./forwarded.js"
import { canonicalIp } from "./ip-address.js"
import { noProxies, type ProxyHeader, type TrustedProxies } from "./trust-proxy.js"

/** The headers of a request. Several lines of one name are joined by a comma. */
export interface ForwardedSource {
  /** The address of the peer; undefined on a Unix socket. */
  readonly peer: string | undefined
  readonly xForwardedFor?: string | undefined
  readonly forwarded?: string | undefined
}

/** The canonical address of the client, or undefined if it has none. Never throws, whatever the headers contain. */
export function clientIp(source: ForwardedSource, trusted: TrustedProxies = noProxies): string | undefined {
  if (!trusted.any) return source.peer === undefined ? undefined : canonicalIp(source.peer)
  return walk(source, trusted).ip
}

/** Reads the client's address from the one header that the trusted proxies write. */
export function clientIpFrom(
  peer: string | undefined,
  header: (name: ProxyHeader) => string | undefined,
  trusted: TrustedProxies,
): string | undefined {
  if (!trusted.any) return clientIp({ peer })
  const value = header(trusted.header)
  return clientIp(
    trusted.header === "forwarded" ? { peer, forwarded: value } : { peer, xForwardedFor: value },
    trusted,
  )
}

/** The headers by which proxies describe the original request, for `forwardedFacts`. */
export interface ForwardedHeaders extends ForwardedSource {
  readonly xForwardedProto?: string | undefined
  readonly xForwardedHost?: string | undefined
  readonly xForwardedMethod?: string | undefined
  readonly xForwardedUri?: string | undefined
}

/** The request that the client sent to the first proxy. All but `ip` is undefined unless the peer is trusted and states it. */
export interface ForwardedFacts {
  readonly ip: string | undefined
  /** Lower-case. */
  readonly proto: string | undefined
  /** Lower-case, with its port if there was one. */
  readonly host: string | undefined
  readonly method: string | undefined
  /** The request target, not yet canonical. */
  readonly uri: string | undefined
}

export function forwardedFacts(
  source: ForwardedHeaders,
  trusted: TrustedProxies = noProxies,
): ForwardedFacts {
  if (!trusted.any || !trusted.trusts(peerOf(source) ?? "", 0)) {
    return { ip: clientIp(source), proto: undefined, host: undefined, method: undefined, uri: undefined }
  }
  const { ip, element } = walk(source, trusted)
  const isForwarded = trusted.header === "forwarded"
  // Of several values the last one is used: the nearest proxy wrote it. A client may have sent the others.
  const proto = isForwarded ? element?.proto : lastValue(source.xForwardedProto)
  const host = isForwarded ? element?.host : lastValue(source.xForwardedHost)
  return {
    ip,
    proto: matching(/^[a-z][a-z0-9+.-]{0,31}$/, proto?.toLowerCase()),
    host: matching(/^(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/, host?.toLowerCase()),
    method: matching(/^[A-Za-z-]{1,32}$/, source.xForwardedMethod),
    uri: matching(/^\//, source.xForwardedUri),
  }
}

interface Walk {
  readonly ip: string | undefined
  /** The element of `Forwarded` that contains the address. Its other parameters describe the same request. */
  readonly element: ForwardedElement | undefined
}

function walk(source: ForwardedSource, trusted: TrustedProxies): Walk {
  const isForwarded = trusted.header === "forwarded"
  const header = (isForwarded ? source.forwarded : source.xForwardedFor) ?? ""
  let ip = peerOf(source)
  let element: ForwardedElement | undefined
  let end = header.length
  for (let hop = 0; end > 0 && trusted.trusts(ip ?? "", hop); hop++) {
    const start = isForwarded ? elementStart(header, end) : header.lastIndexOf(",", end - 1) + 1
    const text = header.slice(start, end).trim()
    const next = isForwarded ? parseElement(text) : undefined
    const address = hopAddress(isForwarded ? (next?.for ?? "") : text)
    // An entry that is no address ends the walk: the address of the last known proxy is used.
    if (address === undefined) break
    ip = address
    element = next
    end = start - 1
  }
  return { ip, element }
}

function peerOf({ peer }: ForwardedSource): string | undefined {
  return peer === undefined ? undefined : canonicalIp(peer)
}

function lastValue(header: string | undefined): string | undefined {
  return header?.slice(header.lastIndexOf(",") + 1).trim()
}

function matching(pattern: RegExp, value: string | undefined): string | undefined {
  return value !== undefined && value.length <= 8192 && pattern.test(value) ? value : undefined
}
