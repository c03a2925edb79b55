// `ANY /v1/auth`: answers the auth subrequests of nginx (`auth_request`), Traefik (ForwardAuth) and Caddy (`forward_auth`). They
// send the headers of the client's request, and let it pass on a 2xx.

import type { IncomingHttpHeaders } from "node:http"
import { SluiceError } from "sluice"
import { compileTrustProxy, forwardedFacts, type TrustedProxies } from "sluice/http"
import { deniedAnswer, noProxies } from "sluice/internal"
import type { RuleDecision, RuleRequest, RuleSetDocument } from "sluice/rules"
import { ask, type Core } from "../core.js"
import { type Answer, decisionHeaders } from "../http/answer.js"
import type { Http1Request } from "../http1/request.js"
import { type RequestRoute, statusParameter } from "./route.js"

export function authRoute(core: Core, trustedProxies: readonly string[] | undefined): RequestRoute {
  const readForwarded = forwardedReader(core, trustedProxies)
  return ({ request, query }) => {
    const asked = readForwarded(request)
    // Caddy keeps the client's query by default. Its parameters are not for this route then.
    const isClients = query !== "" && asked.path?.endsWith(`?${query}`) === true
    const deny = isClients ? undefined : statusParameter(query, "deny")
    const decision = ask(core, "auth", asked)
    return decision instanceof Promise
      ? decision.then((made) => authAnswer(made, deny))
      : authAnswer(decision, deny)
  }
}

/** `deny` overrides the status of the rule: nginx understands 401 and 403 only, and treats any other as an error. */
function authAnswer(decision: RuleDecision, deny: number | undefined): Answer {
  const headers = decisionHeaders(decision)
  if (decision.allowed) return { status: 200, type: "text/plain", body: "", headers }
  const { status, contentType, body } = deniedAnswer({}, decision)
  return { status: deny ?? status, type: contentType, body, headers }
}

/**
 * Reads the request that a proxy asks about from the headers of its subrequest. Only a trusted proxy is believed: anybody else
 * could ask in another client's name and use up its limits. `trustedProxies` are trusted besides those that the rule set names.
 */
function forwardedReader(
  core: Core,
  trustedProxies: readonly string[] = [],
): (request: Http1Request) => RuleRequest {
  const ours = trust(trustedProxies, "trustedProxies", undefined)
  let document: RuleSetDocument | undefined
  let theirs = noProxies
  return (request) => {
    const { rules } = core.engine
    if (rules !== document) {
      const { identity } = rules
      theirs = trust(identity?.trustedProxies ?? [], "identity.trustedProxies", identity?.forwardedBy)
      document = rules
    }
    return read(request, theirs, ours)
  }
}

function trust(
  proxies: readonly string[],
  place: string,
  header: "x-forwarded-for" | "forwarded" | undefined,
): TrustedProxies {
  return proxies.length === 0 ? noProxies : compileTrustProxy(proxies, { place, header })
}

function read(request: Http1Request, theirs: TrustedProxies, ours: TrustedProxies): RuleRequest {
  const { headers, socket } = request
  const peer = socket.remoteAddress
  const isTheirs = theirs.any && theirs.trusts(peerAddress(peer), 0)
  const facts = forwardedFacts(
    {
      peer,
      xForwardedFor: joined(headers["x-forwarded-for"]),
      forwarded: headers.forwarded,
      xForwardedProto: joined(headers["x-forwarded-proto"]),
      xForwardedHost: joined(headers["x-forwarded-host"]),
      xForwardedMethod: agreed(headers, "x-forwarded-method", "x-original-method"),
      xForwardedUri: agreed(headers, "x-forwarded-uri", "x-original-uri"),
    },
    isTheirs ? theirs : ours,
  )
  if (!isTheirs && !(ours.any && ours.trusts(peerAddress(peer), 0))) throw untrusted(peer)
  const asked = {
    method: facts.method ?? request.method,
    host: facts.host ?? headers.host,
    path: facts.uri ?? pathMissing(),
    // The application receives the original path, and may resolve dot segments differently.
    dotSegments: "refuse" as const,
  }
  // Where the rule set trusts the proxy, the engine reads the address, the user and the tier from the headers itself.
  const { rawHeaders } = request
  if (isTheirs) return { ...asked, headers, rawHeaders, ip: peer }
  const { "x-forwarded-for": _, forwarded: __, ...others } = headers
  return { ...asked, headers: others, rawHeaders, ip: facts.ip }
}

/** An IPv4 address, also where it is mapped into IPv6. */
function peerAddress(peer: string | undefined): string {
  return peer === undefined ? "" : peer.startsWith("::ffff:") ? peer.slice("::ffff:".length) : peer
}

/**
 * The value of one of two headers. Proxies set one and pass the client's other one on. If they differ, one may be the client's,
 * who could choose the rules that way.
 */
function agreed(headers: IncomingHttpHeaders, name: string, other: string): string | undefined {
  const value = once(headers, name)
  const otherValue = once(headers, other)
  if (value !== undefined && otherValue !== undefined && value !== otherValue) {
    throw new SluiceError("FORWARDED_INVALID", {
      place: name,
      expected: `must equal ${other}: the proxy must set one of them and remove the other`,
    })
  }
  return value ?? otherValue
}

/** A header that must occur once. Methods and paths contain no blank, so a joined list shows by `, `. */
function once(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = joined(headers[name])
  if (value?.includes(", ") !== true) return value
  throw new SluiceError("FORWARDED_INVALID", {
    place: name,
    expected: "must occur once: the proxy must replace what the client sent",
  })
}

function joined(value: string | string[] | undefined): string | undefined {
  return typeof value === "object" ? value.join(", ") : value
}

function pathMissing(): never {
  throw new SluiceError("FORWARDED_INVALID", {
    place: "x-forwarded-uri",
    expected: "must be the path of the client's request; nginx examples call this header x-original-uri",
  })
}

function untrusted(peer: string | undefined): SluiceError {
  return new SluiceError("PROXY_UNTRUSTED", {
    place: "identity.trustedProxies",
    expected: "must contain the address of the proxy, so that the service accepts its headers",
    found: peer,
  })
}
