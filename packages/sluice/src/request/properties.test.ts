import { BlockList, isIP } from "node:net"
import { posix } from "node:path"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { expectProperty, printSeed } from "../algorithms/replay.test-support.js"
import { compileCidrs } from "./address/cidr.js"
import { clientIp, forwardedFacts } from "./address/client-ip.js"
import { canonicalIp } from "./address/ip-address.js"
import { ipKey } from "./address/ip-key.js"
import { compileTrustProxy, type ProxyHeader } from "./address/trust-proxy.js"
import { asRulesSeeIt, pathVariants } from "./corpus.test-support.js"
import { canonicalPath } from "./path.js"

printSeed()

/** Pieces that mean something to somebody who reads paths. */
const piece = fc.constantFrom(
  ..."/ // . .. ; %2e %2E %2f %5c %25 %61 %3b %00 %c0%af %e9 % \\ a B ~ é # ? : @ \0".split(" "),
  ..."%25%36 %34%31 %2525 \xc3\xa9 \u2028".split(" "),
)
const target = fc.oneof(
  fc.array(piece, { maxLength: 12 }).map((pieces) => `/${pieces.join("")}`),
  fc.string({ unit: "binary", maxLength: 30 }),
)

describe("canonicalPath", () => {
  it("is its own canonical form once it is canonical, with slashes kept too", () => {
    expectProperty(fc.tuple(target, fc.constantFrom("keep", "refuse")), 5_000, ([text, encodedSlashes]) => {
      const first = canonicalPath(text, { encodedSlashes })
      if (first.ok) expect(canonicalPath(`${first.path}?${first.query}`, { encodedSlashes })).toEqual(first)
    })
  })

  it("equals the result of Node's own path and URL functions", () => {
    expectProperty(target, 5_000, (text) => {
      const canonical = canonicalPath(text)
      if (!canonical.ok) return
      const raw = decode(text.split("?")[0] as string)
      // Whether dots at the end leave a slash behind is a matter of taste: for files they do not, for URLs they do.
      const open = /\/\.{0,2}$/.test(raw)
      expect(decode(canonical.path)).toBe(open ? posix.join(posix.normalize(raw), "/") : posix.normalize(raw))
    })
  })

  it("lets only characters through that a request line may have", () => {
    expectProperty(target, 5_000, (text) => {
      const canonical = canonicalPath(text)
      if (!canonical.ok) return
      expect(canonical.path).toMatch(/^\/(?:[\w.~!$&'()*+,;=:@/-]|%[0-9A-F]{2})*$/)
      expect(canonical.path).not.toMatch(/\/\/|\/\.\.?(?:\/|$)|%2F|%5C|%[01]|%7F/)
      expect(canonical.query).toMatch(/^[\x21-\x7e]*$/)
    })
  })

  it("sees the same path after two of the corpus' spellings at once", () => {
    const variants = pathVariants("/login").filter(
      ({ family }) => family === "encoded letters" || family === "case",
    )
    expectProperty(
      fc.tuple(fc.constantFrom(...variants), fc.constantFrom(...BEFORE)),
      500,
      ([{ target }, before]) => {
        const canonical = canonicalPath(before + target)
        expect(canonical.ok && asRulesSeeIt(canonical.path)).toBe("/login")
      },
    )
  })
})

const BEFORE = ["/", "//", "/.", "/%2e", "/x/..", "/x/%2e%2E", "/./."]

/** Every percent-encoded byte as the character it is. */
function decode(text: string): string {
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

const ipv4 = fc.ipV4()
const ipv6 = fc.ipV6()
const word = fc.constantFrom(
  "unknown",
  "_x",
  '"',
  "\\",
  ",",
  "for=",
  "1.2.3.4",
  "10.0.0.1",
  "::1",
  "[",
  "]",
  ":80",
  " ",
  "=",
)
const rubbish = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.array(word, { maxLength: 6 }).map((words) => words.join("")),
)

describe("clientIp", () => {
  it.each<ProxyHeader>(["x-forwarded-for", "forwarded"])(
    "ignores everything left of the first untrusted address: %s",
    (header) => {
      const trusted = compileTrustProxy("10.0.0.0/8", { header })
      const client = fc.oneof(ipv4, ipv6).filter((ip) => !trusted.trusts(ip, 0))
      const proxies = fc.array(fc.integer({ min: 1, max: 254 }), { minLength: 1, maxLength: 4 })
      expectProperty(fc.tuple(rubbish, client, proxies), 3_000, ([claim, ip, chain]) => {
        const seen = [ip, ...chain.slice(1).map((last) => `10.0.0.${last}`)]
        const node = (address: string) => (address.includes(":") ? `for="[${address}]"` : `for=${address}`)
        const written = header === "forwarded" ? seen.map(node) : seen
        const value = [claim, ...written].join(", ")
        const source = { peer: `10.0.0.${chain[0]}`, xForwardedFor: value, forwarded: value }
        expect(clientIp(source, trusted)).toBe(canonicalIp(ip))
      })
    },
  )

  it("is an address or undefined, for any bytes", () => {
    const trusts = [compileTrustProxy(3), compileTrustProxy(() => true, { header: "forwarded" })]
    expectProperty(fc.tuple(rubbish, rubbish, fc.constantFrom(...trusts)), 3_000, ([peer, header, trust]) => {
      const source = {
        peer,
        xForwardedFor: header,
        forwarded: header,
        xForwardedHost: header,
        xForwardedUri: header,
      }
      const { ip } = forwardedFacts(source, trust)
      expect(ip === undefined || isIP(ip) > 0).toBe(true)
      expect(clientIp(source, trust)).toBe(ip)
    })
  })
})

describe("canonicalIp", () => {
  it("accepts exactly the addresses that Node accepts", () => {
    const mutated = fc.tuple(
      fc.oneof(ipv4, ipv6),
      fc.nat(40),
      fc.constantFrom(..."0 1 f : . :: % g".split(" "), ""),
    )
    const texts = mutated.map(([ip, at, by]) => ip.slice(0, at) + by + ip.slice(at + 1))
    expectProperty(fc.oneof(texts, ipv4, ipv6), 10_000, (text) => {
      expect(canonicalIp(text) !== undefined).toBe(isIP(text) > 0)
    })
  })

  it("writes IPv6 as URLs do", () => {
    expectProperty(ipv6, 3_000, (ip) => {
      const canonical = canonicalIp(ip) as string
      if (canonical.includes(":")) expect(`[${canonical}]`).toBe(new URL(`http://[${ip}]/`).hostname)
    })
  })
})

describe("compileCidrs", () => {
  it("contains exactly what Node's BlockList contains", () => {
    const few = fc.constantFrom("10.0.0.1", "10.255.0.0", "11.0.0.0", "0.0.0.0", "255.255.255.255")
    expectSameAsNode("ipv4", fc.oneof(ipv4, few), 32)
    const some = fc.constantFrom("2001:db8::1", "2001:db8:8000::", "2001:db9::", "::", "::1")
    // Node holds mapped addresses against IPv4 rules in a way of its own.
    const unmapped = ipv6.filter((ip) => canonicalIp(ip)?.includes(":") === true)
    expectSameAsNode("ipv6", fc.oneof(unmapped, some), 128)
  })

  function expectSameAsNode(version: "ipv4" | "ipv6", ip: fc.Arbitrary<string>, bits: number): void {
    const ranges = fc.array(fc.tuple(ip, fc.integer({ min: 1, max: bits })), { maxLength: 20 })
    expectProperty(fc.tuple(ranges, fc.array(ip, { maxLength: 20 })), 1_000, ([list, ips]) => {
      const node = new BlockList()
      const cidrs = list.map(([address, prefix]) => {
        const first = version === "ipv4" ? firstIPv4(address, prefix) : (ipKey(address, prefix) as string)
        node.addSubnet(address, prefix, version)
        return `${first.split("/")[0]}/${prefix}`
      })
      const compiled = compileCidrs(cidrs, "list")
      for (const probe of [...ips, ...list.map(([address]) => address)]) {
        expect(compiled.contains(probe)).toBe(node.check(probe, version))
      }
    })
  }

  function firstIPv4(ip: string, prefix: number): string {
    const all = ip.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0)
    const first = all - (all % 2 ** (32 - prefix))
    return [24, 16, 8, 0].map((shift) => Math.floor(first / 2 ** shift) % 256).join(".")
  }
})

describe("64 KB of anything", () => {
  const size = 65_536
  const fill = (text: string) => text.repeat(Math.ceil(size / text.length)).slice(0, size)
  const patterns = [
    "/",
    "/a/..",
    "/./",
    "%41",
    "%25%34",
    "\xe9",
    ".",
    "..;",
    "a",
    "%",
    "?",
    "%2e%2e/",
    "/\xc3",
    ";",
  ]
  const hops = [
    ",",
    "1.2.3.4,",
    "::1, ",
    '"',
    '\\"',
    "\\",
    "for=1.2.3.4,",
    'for="[::1]",',
    "for=a;",
    " ",
    "=",
    "[",
    ":",
  ]

  /**
   * The least of up to 125 runs: what the code costs, not what else the machine was doing. The first run below the bound
   * ends the search, and quadratic code has none.
   */
  function leastMilliseconds(run: () => unknown, bound: number): number {
    let least = Number.POSITIVE_INFINITY
    for (let i = 0; i < 125 && least >= bound; i++) {
      const start = performance.now()
      run()
      least = Math.min(least, performance.now() - start)
    }
    return least
  }

  const expectWithin5Ms = (run: () => unknown) => expect(leastMilliseconds(run, 5)).toBeLessThan(5)

  it.each(patterns)("is a path or refused within 5 ms: %s", (pattern) => {
    const text = `/${fill(pattern)}`
    expectWithin5Ms(() => canonicalPath(text, { encodedSlashes: "keep" }))
    expectWithin5Ms(() => canonicalPath(`/?${text}`))
  })

  it.each(hops)("is walked within 5 ms: %s", (pattern) => {
    const value = fill(pattern)
    const source = { peer: "10.0.0.1", xForwardedFor: value, forwarded: value, xForwardedHost: value }
    for (const header of ["x-forwarded-for", "forwarded"] as const) {
      const trusted = compileTrustProxy(() => true, { header })
      expectWithin5Ms(() => clientIp(source, trusted))
      expectWithin5Ms(() => clientIp({ ...source, peer: value }, trusted))
    }
  })
})
