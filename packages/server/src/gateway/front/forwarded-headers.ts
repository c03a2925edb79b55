// Tells the upstream who the client is: X-Forwarded-* and Forwarded. The gateway writes these headers itself, and keeps only
// what a trusted proxy said of the hops before it.

import type { Socket } from "node:net"
import { clientIp, forwardedFacts, ipKey, type TrustedProxies } from "sluice/http"
import type { ClientRequest } from "./client-request.js"

export interface Origin {
  /** The address that is connected. */
  readonly peer: string | undefined
  /** The client's address, as the trusted proxies report it. */
  readonly clientIp: string | undefined
  /** The client for limits per client: an IPv6 address counts as its network. */
  readonly client: string
  readonly isFromProxy: boolean
  /** Header lines, each with its end. */
  readonly lines: string
}

/** The other end of a connection. */
interface Peer {
  readonly ip: string
  /** The last host that it asked for, and the origin made for it: nearly every client asks for one host only. */
  host: string
  origin: Origin | undefined
}

const peers = new WeakMap<Socket, Peer>()

function peerOf(socket: Socket): Peer {
  let peer = peers.get(socket)
  if (peer === undefined) {
    peer = { ip: clientIp({ peer: socket.remoteAddress }) ?? "", host: "", origin: undefined }
    peers.set(socket, peer)
  }
  return peer
}

export function originOf(request: ClientRequest, host: string, trusted: TrustedProxies): Origin {
  const { socket } = request
  const known = peerOf(socket)
  const peer = known.ip
  const proto = "encrypted" in socket ? "https" : "http"
  if (!trusted.any || !trusted.trusts(peer, 0)) {
    if (known.origin === undefined || known.host !== host) {
      known.host = host
      const ip = peer === "" ? undefined : peer
      const client = ipKey(peer) ?? ""
      known.origin = { peer: ip, clientIp: ip, client, isFromProxy: false, lines: lines(peer, host, proto) }
    }
    return known.origin
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
    clientIp: facts.ip,
    client: ipKey(ip) ?? "",
    isFromProxy: true,
    lines: write(xForwardedFor, facts.host ?? host, facts.proto ?? proto, forwarded),
  }
}

function lines(peer: string, host: string, proto: string): string {
  return write(peer === "" ? "unknown" : peer, host, proto, element(peer, host, proto))
}

function write(xForwardedFor: string, host: string, proto: string, forwarded: string): string {
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
