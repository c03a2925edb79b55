// Ways to write one path or to claim one address so that a limit does not see it. Gathered from what is publicly known to
// have worked somewhere. Whatever stands between a request and its key is run through all of them.

import type { ForwardedSource } from "./address/client-ip.js"
import { ipKey } from "./address/ip-key.js"
import type { ProxyHeader, TrustProxy } from "./address/trust-proxy.js"

export interface PathVariant {
  readonly family: string
  /** The request target as it stands in the request line, one character per byte. */
  readonly target: string
  /** A rule for the path must see it; some may be refused instead, but never seen as another path. */
  readonly must: "match" | "match or be refused"
}

/** Spellings of a path of lower-case letters, digits and slashes, such as `/login` or `/v1/users`. */
export function pathVariants(path: string): PathVariant[] {
  const match = (family: string, targets: readonly string[]) =>
    targets.map((target): PathVariant => ({ family, target, must: "match" }))
  const refuse = (family: string, targets: readonly string[]) =>
    targets.map((target): PathVariant => ({ family, target, must: "match or be refused" }))
  const slashes = [...path.matchAll(/\//g)].map((found) => found.index)
  const letters = [...path.matchAll(/[^/]/g)].map((found) => found.index)
  const atSlash = (...texts: string[]) =>
    slashes.flatMap((i) => texts.map((text) => replaceAt(path, i, text)))
  const atLetter = (write: (char: string) => string) =>
    letters.map((i) => replaceAt(path, i, write(path[i] as string)))
  const afterSegment = (...texts: string[]) =>
    [...slashes.slice(1), path.length].flatMap((i) =>
      texts.map((text) => path.slice(0, i) + text + path.slice(i)),
    )

  return [
    ...match(
      "query",
      ["", "?", "?x=1", "?/../x", "??", "?a=%2f%00", "?;", "?\\"].map((end) => path + end),
    ),
    ...match("case", [path.toUpperCase(), ...atLetter((char) => char.toUpperCase())]),
    ...match(
      "trailing slash",
      ["/", "//", "///", "/?x"].map((end) => path + end),
    ),
    ...match(
      "path parameters",
      afterSegment(";", ";x", ";jsessionid=1", ";a=b;c=d", ";a=b,c", ";%41", ";.."),
    ),
    ...match("empty segments", atSlash("//", "///", "/".repeat(9))),
    ...match("encoded letters", [
      ...atLetter(percent),
      ...atLetter((char) => percent(char).toLowerCase()),
      ...atLetter((char) => percent(char.toUpperCase())),
      path.replace(/[^/]/g, percent),
    ]),
    ...match("dot segments", [
      ...ONE_DOT.flatMap((dot) => atSlash(`/${dot}/`, `/${dot}/${dot}/`, `//${dot}/`)),
    ]),
    ...match(
      "parent segments",
      TWO_DOTS.flatMap((dots) => atSlash(`/x/${dots}/`, `/x/y/${dots}/${dots}/`, `/x/./${dots}/`)),
    ),
    ...match("trailing dots", [
      ...ONE_DOT.flatMap((dot) => [`${path}/${dot}`, `${path}/${dot}/`]),
      ...TWO_DOTS.flatMap((dots) => [`${path}/x/${dots}`, `${path}/x/${dots}/`]),
    ]),
    ...match("several at once", [
      `//.${path.toUpperCase().replace(/[^/]/g, percent)};x//?y`,
      `/x/%2E%2e/.${path}/%2e/`,
    ]),
    ...refuse(
      "above the root",
      TWO_DOTS.flatMap((dots) => [`/${dots}${path}`, `/${dots}/${dots}${path}`]),
    ),
    ...refuse("empty before parent", [
      `/x//..${path}`,
      `/x/y//../..${path}`,
      `${path}/x//../..`,
      `/..//${path}`,
    ]),
    ...refuse(
      "dots with parameters",
      [";", ";x", "%3b", "%3Bx=1"].flatMap((end) => [
        ...atSlash(`/x/..${end}/`, `/.${end}/`, `/x/%2e%2e${end}/`),
        `${path}/x/..${end}`,
      ]),
    ),
    ...refuse(
      "encoded slashes",
      atSlash("/x%2f../", "/%2f", "/x/..%2F", "/%2e%2e%2f").concat(innerSlashes(path, "%2f")),
    ),
    ...refuse("backslashes", [
      ...atSlash("/\\", "\\", "/%5c", "%5C", "/x\\..\\", "/x%5c..%5c", "/x/..\\", "/..%5c"),
      `${path}\\`,
      `${path}%5c`,
    ]),
    ...refuse("encoded twice", [
      ...atLetter((char) => percent(char).replace("%", "%25")),
      ...atLetter((char) => percent(char).replace("%", "%2525")),
      // The digits of the second encoding encoded themselves.
      ...atLetter((char) => `%25${[...percent(char).slice(1)].map(percent).join("")}`),
      ...atSlash("/x/%252e%252e/", "/%252e/", "%252f", "/x/%252e%252e%252f", "%255c"),
    ]),
    ...refuse(
      "control characters",
      ["%00", "%09", "%0a", "%0d%0a", "%1f", "%7f", "\0", "\t", "\n", "\r\n", "\x7f", " "].flatMap((char) => [
        path + char,
        `${path}/${char}`,
        `${path}${char}.json`,
        `/${char}${path.slice(1)}`,
        path + char + path,
      ]),
    ),
    ...refuse("overlong UTF-8", [
      ...atSlash(
        "%c0%af",
        "/x/%c0%ae%c0%ae/",
        "/%c0%ae/",
        "%e0%80%af",
        "%c1%9c",
        "%f0%80%80%af",
        "%f8%80%80%80%af",
      ),
      ...atSlash("\xc0\xaf", "/x/\xc0\xae\xc0\xae/", "\xe0\x80\xaf", "%fc%80%80%80%80%af"),
      ...atLetter((char) => `%c1%${(char.charCodeAt(0) | 0x80).toString(16)}`),
    ]),
    ...refuse("not a percent-encoding", [
      ...["%", "%2", "%zz", "%%", "%u0000"].map((end) => path + end),
      ...atLetter((char) => `%u00${char.charCodeAt(0).toString(16)}`),
      ...atSlash("/%u002e/", "%u2215", "%uff0f", "/%%32%65/"),
    ]),
    ...refuse("another form of target", [
      ...[
        "http://localhost",
        "HTTP://localhost",
        "https://localhost:443",
        "http:",
        "localhost",
        "ws://localhost",
      ].map((start) => start + path),
      ...[
        "",
        "*",
        "localhost:80",
        path.slice(1),
        `.${path}`,
        `..${path}`,
        `?${path}`,
        `;${path}`,
        ` ${path}`,
        `@${path}`,
      ],
    ]),
    ...refuse(
      "fragments",
      ["#", "#x", "?#", "?x#y", "/#/../x"].map((end) => path + end),
    ),
  ]
}

const ONE_DOT = [".", "%2e", "%2E"]
const TWO_DOTS = ["..", "%2e.", ".%2e", "%2e%2e", "%2E%2E", "%2E."]

function percent(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase()}`
}

function replaceAt(text: string, at: number, by: string): string {
  return text.slice(0, at) + by + text.slice(at + 1)
}

/** All slashes but the first, which makes a target a path. */
function innerSlashes(path: string, by: string): string[] {
  const written = `/${path.slice(1).replaceAll("/", by)}`
  return written === path ? [] : [written, written.toUpperCase()]
}

/** The path as rules see it: they ignore case, parameters and a slash at the end. */
export function asRulesSeeIt(canonical: string): string {
  return canonical
    .toLowerCase()
    .replace(/;[^/]*/g, "")
    .replace(/(?<=.)\/$/, "")
}

export interface IpVariant {
  readonly family: string
  readonly source: ForwardedSource
  readonly trust: TrustProxy
  readonly header: ProxyHeader
  /** Who is counted, whatever the headers claim. */
  readonly key: string
}

/** Ways in which this client, which controls all headers it sends, may arrive. */
export function ipVariants(ip: string): IpVariant[] {
  const key = ipKey(ip) as string
  const variant = (
    family: string,
    source: ForwardedSource,
    trust: TrustProxy,
    header: ProxyHeader,
  ): IpVariant => ({
    family,
    source,
    trust,
    header,
    key,
  })
  const xff = (
    family: string,
    xForwardedFor: string,
    trust: TrustProxy = PROXIES,
    rest: Partial<ForwardedSource> = {},
  ) => variant(family, { peer: PROXY, xForwardedFor, ...rest }, trust, "x-forwarded-for")
  const fwd = (
    family: string,
    forwarded: string,
    trust: TrustProxy = PROXIES,
    rest: Partial<ForwardedSource> = {},
  ) => variant(family, { peer: PROXY, forwarded, ...rest }, trust, "forwarded")
  const node = ip.includes(":") ? `"[${ip}]"` : ip
  const claims = [...CLAIMS, ip]

  return [
    ...ipSpellings(ip).flatMap((peer) => [
      variant("spelling of the peer", { peer }, false, "x-forwarded-for"),
      xff("spelling in X-Forwarded-For", peer),
      fwd("spelling in Forwarded", `for="${peer.includes(":") ? `[${peer}]` : peer}"`),
    ]),
    ...claims.flatMap((claim) => [
      variant("nobody trusted", { peer: ip, xForwardedFor: claim }, false, "x-forwarded-for"),
      variant("nobody trusted", { peer: ip, forwarded: `for=${claim}` }, false, "forwarded"),
      variant("not through the proxy", { peer: ip, xForwardedFor: claim }, PROXIES, "x-forwarded-for"),
      variant("not through the proxy", { peer: ip, forwarded: `for="${claim}"` }, PROXIES, "forwarded"),
      xff("claimed before a proxy", `${claim}, ${ip}`),
      xff("claimed before a proxy", `${claim},${claim} ,\t${ip}`, 1),
      xff("claimed before two proxies", `${claim}, ${ip}, 10.0.0.2`),
      xff("claimed before two proxies", `${claim}, ${ip}, 192.0.2.1`, 2),
      fwd("claimed before a proxy", `for=${claim}, for=${node}`),
      fwd("claimed before a proxy", `for="${claim}";proto=https;by=x,for=${node};proto=http`, 1),
      fwd("claimed before two proxies", `For="${claim}", FOR=${node}, for="10.0.0.2:80"`),
      fwd("open quote before a proxy", `for="${claim}, for=${node}`),
      fwd("open quote before a proxy", `for="${claim}\\", for=${node};host="a,b"`),
      xff("claimed in the other header", ip, PROXIES, { forwarded: `for=${claim}` }),
      fwd("claimed in the other header", `for=${node}`, PROXIES, { xForwardedFor: claim }),
    ]),
    ...["", ":443", ":65535"].flatMap((port) => [
      xff("with a port", ip.includes(":") ? `[${ip}]${port}` : ip + port),
      fwd("with a port", `for="${ip.includes(":") ? `[${ip}]` : ip}${port}"`),
    ]),
    fwd("with an obfuscated port", `for="${ip.includes(":") ? `[${ip}]` : ip}:_p0rt"`),
  ]
}

const PROXY = "10.0.0.1"
const PROXIES = ["10.0.0.0/8"]

const CLAIMS = [
  "127.0.0.1",
  "::1",
  "10.0.0.9",
  "198.51.100.99",
  "2001:db8:ffff::1",
  "::ffff:10.0.0.9",
  "0.0.0.0",
  "0177.0.0.1",
  "2130706433",
  "localhost",
  "unknown",
  "_hidden",
  "",
  ",",
  ",,,",
  '"',
  "\\",
  "'; DROP TABLE keys; --",
  "10.0.0.9, 10.0.0.9",
  "127.0.0.1:80",
  "[::1]:80",
  "[",
  "%00",
  "9".repeat(300),
]

/** Every way to write the same address, or another one that counts as the same client. */
export function ipSpellings(ip: string): string[] {
  if (!ip.includes(":")) {
    const [a = 0, b = 0, c = 0, d = 0] = ip.split(".").map(Number)
    const hex = [a * 256 + b, c * 256 + d].map((group) => group.toString(16)).join(":")
    const prefixes = [
      "::ffff:",
      "::FFFF:",
      "0:0:0:0:0:ffff:",
      "0000:0000:0000:0000:0000:ffff:",
      "::0:ffff:",
      "0::ffff:",
    ]
    return [
      ip,
      ...prefixes.flatMap((prefix) => [prefix + ip, prefix + hex, `${prefix + hex.toUpperCase()}%eth0`]),
    ]
  }
  const network = groupsOf(ip).slice(0, 4)
  const hosts = ["0:0:0:1", "ffff:ffff:ffff:ffff", "dead:beef:0:0", "1:0:0:0", "0:1:0:0", "0:0:5efe:c0a8"]
  const short = network.map((group) => group.replace(/^0+(?=.)/, "")).join(":")
  const neighbours = hosts.map((host) => `${short}:${host}`)
  return [
    ip,
    ip.toUpperCase(),
    `${ip}%eth0`,
    `${ip}%25en0`,
    groupsOf(ip).join(":"),
    `${network.join(":")}::1`,
    `${short}::`,
    `${short}::255.255.255.255`,
    ...neighbours,
    ...neighbours.map((neighbour) => neighbour.toUpperCase()),
  ]
}

/** The eight groups, four digits each. */
function groupsOf(ip: string): string[] {
  const [start = "", end] = ip.split("::")
  const left = start === "" ? [] : start.split(":")
  const right = end === undefined || end === "" ? [] : end.split(":")
  const zeros = new Array<string>(8 - left.length - right.length).fill("0")
  return [...left, ...(end === undefined ? [] : zeros), ...right].map((group) => group.padStart(4, "0"))
}
