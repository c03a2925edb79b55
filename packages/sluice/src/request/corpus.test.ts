import { describe, expect, it } from "vitest"
import { clientIp } from "./address/client-ip.js"
import { ipKey } from "./address/ip-key.js"
import { compileTrustProxy } from "./address/trust-proxy.js"
import { asRulesSeeIt, ipVariants, pathVariants } from "./corpus.test-support.js"
import { canonicalPath } from "./path.js"

const paths = ["/login", "/v1/users", "/api/v2/orders/7"]
const addresses = ["203.0.113.7", "8.8.8.8", "2001:db8:1:2::7", "2001:db8::1:0:0:1"]

describe.each(paths)("every spelling of %s", (path) => {
  const variants = pathVariants(path)

  it.each([...new Set(variants.map(({ family }) => family))])("is seen or refused: %s", (family) => {
    const strange = variants
      .filter((variant) => variant.family === family)
      .map(({ target, must }) => ({ target, must, canonical: canonicalPath(target) }))
      .filter(({ must, canonical }) =>
        canonical.ok ? asRulesSeeIt(canonical.path) !== path : must === "match",
      )
    expect(strange).toEqual([])
  })

  it("is its own canonical form once it is canonical", () => {
    for (const { target } of variants) {
      const first = canonicalPath(target)
      if (first.ok) expect(canonicalPath(`${first.path}?${first.query}`)).toEqual(first)
    }
  })
})

describe.each(addresses)("every way in which %s may arrive", (address) => {
  const variants = ipVariants(address)

  it.each([...new Set(variants.map(({ family }) => family))])("has one key: %s", (family) => {
    const strange = variants
      .filter((variant) => variant.family === family)
      .map((variant) => {
        const ip = clientIp(variant.source, compileTrustProxy(variant.trust, { header: variant.header }))
        return { ...variant, counted: ip === undefined ? undefined : ipKey(ip) }
      })
      .filter(({ key, counted }) => key !== counted)
    expect(strange).toEqual([])
  })
})

it("tries at least 500 different variants of one path and one address, all different", () => {
  const targets = pathVariants("/v1/users").map(({ target }) => target)
  const claims = ipVariants("203.0.113.7").map((variant) => JSON.stringify(variant))
  expect(new Set(targets).size + new Set(claims).size).toBeGreaterThanOrEqual(500)
  process.stdout.write(
    `bypass corpus: ${new Set(targets).size} spellings of one path, ${new Set(claims).size} arrivals of one address\n`,
  )
})
