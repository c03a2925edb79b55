import { SluiceError } from "../../errors.js"

export interface HostPattern {
  readonly text: string
  /** The host, or the suffix that the host must have: `.example.com` for `*.example.com`. */
  readonly host: string
  readonly wildcard: boolean
}

/** The maximum length of a DNS name. */
export const MAX_HOST_LENGTH = 253
const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/
const IPV6 = /^\[[0-9a-f:.]+\]$/

/**
 * Parses `api.example.com`, `*.example.com`, an IPv4 address, or an IPv6 address in brackets. Throws PATTERN_INVALID, with
 * `place` as the place of the mistake, for anything else.
 */
export function parseHostPattern(text: string, place: string): HostPattern {
  const refuse = (expected: string): never => {
    throw new SluiceError("PATTERN_INVALID", { place, expected, found: text })
  }
  if (typeof text !== "string" || text === "") refuse("must be a host, like api.example.com")
  if (/[^\0-\x7f]/.test(text)) refuse("must be written in ASCII, as in the Host header: xn--…")
  const host = text.toLowerCase().replace(/\.$/, "")
  if (host.length > MAX_HOST_LENGTH) refuse(`must have at most ${MAX_HOST_LENGTH} characters`)
  if (IPV6.test(host)) return { text, host, wildcard: false }
  if (/:\d*$/.test(host)) refuse("must not have a port: rules match a host on every port")
  if (host === "*") refuse("must name a domain after the *; a rule without host matches every host")
  const wildcard = host.startsWith("*.")
  const labels = (wildcard ? host.slice(2) : host).split(".")
  if (labels.some((label) => label.includes("*")))
    refuse("must have * only as its first label, like *.example.com")
  if (!labels.every((label) => LABEL.test(label)))
    refuse("must be labels of letters, digits, - and _, like api.example.com")
  return { text, host: wildcard ? host.slice(1) : host, wildcard }
}

/** `comparedHost` is the host of a request as `comparedHost` in request/host.ts returns it. */
export function matchesHost({ host, wildcard }: HostPattern, comparedHost: string): boolean {
  return wildcard ? comparedHost.length > host.length && comparedHost.endsWith(host) : comparedHost === host
}
