// Checks what a schema cannot express about the gateway's section: names that must exist, addresses, and exclusive settings.

import { SluiceError } from "sluice"
import { canonicalPath } from "sluice/http"
import { parseHostPattern } from "sluice/internal/rules"
import {
  DEFAULT_UPSTREAM,
  type GatewaySettings,
  routesOf,
  type UpstreamSettings,
  upstreamsOf,
} from "./gateway-schema.js"

export interface GatewayProblem {
  readonly path: readonly PropertyKey[]
  readonly message: string
}

type Wrong = (path: readonly PropertyKey[], message: string) => void

export function gatewayProblems(settings: GatewaySettings): GatewayProblem[] {
  const problems: GatewayProblem[] = []
  const wrong: Wrong = (path, message) => problems.push({ path: ["gateway", ...path], message })
  const { enabled, upstream, upstreams, tls } = settings
  for (const [i, target] of upstream.entries()) checkTarget(target, ["upstream", i], wrong)
  for (const [name, each] of Object.entries(upstreams)) checkUpstream(each, ["upstreams", name], wrong)
  if (upstream.length > 0 && upstreams[DEFAULT_UPSTREAM] !== undefined)
    wrong(
      ["upstreams", DEFAULT_UPSTREAM],
      "cannot be combined with gateway.upstream, which defines the same upstream",
    )
  if ((tls.cert === undefined) !== (tls.key === undefined))
    wrong(
      ["tls", tls.cert === undefined ? "cert" : "key"],
      "is required: a certificate needs its key, and a key its certificate",
    )
  checkMixed(upstream, ["upstream"], wrong)
  checkRoutes(settings, wrong)
  const names = Object.keys(upstreamsOf(settings))
  if (!enabled || problems.length > 0) return problems
  if (names.length === 0)
    wrong(["upstream"], "is required: where requests go, such as --upstream http://localhost:3000")
  else if (settings.routes.length === 0 && names.length > 1)
    wrong(["routes"], "is required when there are several upstreams")
  return problems
}

function checkUpstream(upstream: UpstreamSettings, at: readonly PropertyKey[], wrong: Wrong): void {
  const { targets, health } = upstream
  for (const [i, target] of targets.entries()) checkTarget(target, [...at, "targets", i], wrong)
  checkMixed(targets, [...at, "targets"], wrong)
  if (health === undefined) return
  if (!canonicalPath(health.path).ok)
    wrong([...at, "health", "path"], `must be a path such as /healthz, got ${JSON.stringify(health.path)}`)
  if (health.interval < 1) wrong([...at, "health", "interval"], "must be at least 1 ms")
  if (health.timeout < 1) wrong([...at, "health", "timeout"], "must be at least 1 ms")
}

function checkTarget(target: string, at: readonly PropertyKey[], wrong: Wrong): void {
  const url = URL.canParse(target) ? new URL(target) : undefined
  // The address is not shown, because it may hold a password.
  if (url === undefined || !["http:", "https:"].includes(url.protocol) || url.hostname === "")
    wrong(at, "must be an address such as http://localhost:3000")
  else if (url.username !== "" || url.password !== "")
    wrong(at, "must have no user and no password: the gateway does not send them")
  else if (url.pathname !== "/" || url.search !== "" || url.hash !== "")
    wrong(at, `must have no path, such as ${url.origin}`)
}

/** The scheme decides whether the gateway forwards the Host header of the client. */
function checkMixed(targets: readonly string[], at: readonly PropertyKey[], wrong: Wrong): void {
  const schemes = new Set(targets.filter((each) => URL.canParse(each)).map((each) => new URL(each).protocol))
  if (schemes.size > 1) wrong(at, "must be all http or all https")
}

function checkRoutes(settings: GatewaySettings, wrong: Wrong): void {
  const known = Object.keys(upstreamsOf(settings))
  const names = new Set<string>()
  const places = new Set<string>()
  for (const [i, route] of routesOf(settings).entries()) {
    const at = ["routes", i]
    if (!known.includes(route.upstream) && settings.routes.length > 0)
      wrong(
        [...at, "upstream"],
        `must be one of ${known.join(", ") || "gateway.upstreams"}, got ${JSON.stringify(route.upstream)}`,
      )
    const path = canonicalPath(route.path)
    if (!path.ok || path.path !== route.path || path.query !== "")
      wrong(
        [...at, "path"],
        `must be ${path.ok && path.query === "" ? `written as ${path.path}` : "a path such as /api"}, got ${JSON.stringify(route.path)}`,
      )
    if (route.host !== undefined) checkHost(route.host, [...at, "host"], wrong)
    if (names.has(route.name))
      wrong([...at, "name"], `must be unique among the routes, got ${JSON.stringify(route.name)}`)
    names.add(route.name)
    if (places.has(route.place)) wrong(at, "must have another host or path than every other route")
    places.add(route.place)
  }
}

function checkHost(host: string, at: readonly PropertyKey[], wrong: Wrong): void {
  try {
    parseHostPattern(host, "host")
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    wrong(at, `${error.expected}, got ${JSON.stringify(host)}`)
  }
}
