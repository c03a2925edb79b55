// Tells the upstream who the client is: X-Forwarded-* and Forwarded. The gateway writes these headers itself, and keeps only
// what a trusted proxy said of the hops before it.

import type { Socket } from "node:net"
import { clientIp, forwardedFacts, ipKey, type TrustedProxies } from "sluice/http"
import type { ClientRequest } from "./client-request.js"

/** Who sends a request. */
export interface ClientIdentity {
  /** The address that is connected: the client, or a proxy. */
  readonly peer: string | undefined
  /** The client's address, as the trusted proxies report it. */
  readonly ip: string | undefined
  /** The client for limits per client: an IPv6 address counts as its network. */
  readonly key: string
  /** Whether a trusted proxy sends the request for the client. */
  readonly isBehindProxy: boolean
  /** The header lines that tell the upstream of the client, each with its end. */
  readonly forwardedLines: string
}

/** The other end of a connection. */
interface Peer {
  readonly ip: string
  /** The last host that it asked for, and its identity for it: nearly every client asks for one host only. */
  host: string
  identity: ClientIdentity | undefined
}

const peers = new WeakMap<Socket, Peer>()

function peerOf(socket: Socket): Peer {
  let peer = peers.get(socket)
  if (peer === undefined) {
    peer = { ip: clientIp({ peer: socket.remoteAddress }) ?? "", host: "", identity: undefined }
    peers.set(socket, peer)
  }
  return peer
}

export function identify(request: ClientRequest, host: string, trusted: TrustedProxies): ClientIdentity {
  const { socket } = request
  const known = peerOf(socket)
  const peer = known.ip
  const proto = "encrypted" in socket ? "https" : "http"
  if (!trusted.any || !trusted.trusts(peer, 0)) {
    if (known.identity === undefined || known.host !== host) {
      known.host = host
      known.identity = directIdentity(peer, host, proto)
    }
    return known.identity
  }
  const { headers } = request
  const source = {
    peer: socket.remoteAddress,
    xForwardedFor: joined(headers["x-forwarded-for"]),
    forwarded: headers.forwarded,
    xForwardedProto: joined(headers["x-forwarded-proto"]),
    xForwardedHost: joined(headers["x-forwarded-host"]),
  }
  const facts = forwardedFacts(source, trusted)
  const ip = facts.ip ?? peer
  const chain = ip === peer ? [peer] : [ip, peer]
  const isForwarded = trusted.header === "forwarded"
  // The gateway appends to the header that the proxies use. It replaces the other one, which is the client's.
  const kept = isForwarded ? source.forwarded : source.xForwardedFor
  const first = element(ip, facts.host ?? host, facts.proto ?? proto)
  const xForwardedFor = isForwarded || kept === undefined ? chain.join(", ") : `${kept}, ${peer}`
  const forwarded =
    isForwarded && kept !== undefined
      ? `${kept}, ${element(peer, host, proto)}`
      : [first, ...chain.slice(1).map((hop) => `for=${node(hop)}`)].join(", ")
  return {
    peer: peer === "" ? undefined : peer,
    ip: facts.ip,
    key: ipKey(ip) ?? "",
    isBehindProxy: true,
    forwardedLines: lines(xForwardedFor, facts.host ?? host, facts.proto ?? proto, forwarded),
  }
}

/** A client that is connected itself. */
function directIdentity(peer: string, host: string, proto: string): ClientIdentity {
  const ip = peer === "" ? undefined : peer
  return {
    peer: ip,
    ip,
    key: ipKey(peer) ?? "",
    isBehindProxy: false,
    forwardedLines: lines(ip ?? "unknown", host, proto, element(peer, host, proto)),
  }
}

function lines(xForwardedFor: string, host: string, proto: string, forwarded: string): string {
  const hostLine = host === "" ? "" : `x-forwarded-host: ${host}\r\n`
  const forLine = `x-forwarded-for: ${xForwardedFor}\r\n`
  return [forLine, hostLine, "x-forwarded-proto: ", proto, "\r\nforwarded: ", forwarded, "\r\n"].join("")
}

/** One hop in `Forwarded`. A value with a colon must be quoted. */
function element(ip: string, host: string, proto: string): string {
  const hostPair = host === "" ? "" : `;host=${host.includes(":") ? `"${host}"` : host}`
  return `for=${node(ip)}${hostPair};proto=${proto}`
}

function node(ip: string): string {
  return ip === "" ? "unknown" : ip.includes(":") ? `"[${ip}]"` : ip
}

function joined(value: string | string[] | undefined): string | undefined {
  return typeof value === "object" ? value.join(", ") : value
}
