import fc from "fast-check"
import { expect, it } from "vitest"
import { headerLines } from "./header-lines.js"
import { HEADER_STYLES, type HeaderDecision } from "./headers.js"
import { headerList } from "./merged-headers.js"

const policies = [{ name: 'a;r=1, "remaining=2', quota: 5, windowMs: 60_000 }]

function oneByOne(list: readonly string[]): string {
  return list.map((text, i) => (i % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join("")
}

/** Few values, so that decisions that follow each other often share some. */
const ms = fc.constantFrom(0, 0.001, 999, 1_000, 1_001, 60_000, 1_800_000_000_000, Infinity)
const units = fc.constantFrom(0, 1, 5, 12, 1e9, 1e16, 0.5, Infinity)
const limit = fc.record({
  limit: units,
  remaining: units,
  retryAfterMs: ms,
  resetAfterMs: ms,
  resetAt: ms,
})
const decision: fc.Arbitrary<HeaderDecision> = fc
  .tuple(limit, fc.boolean(), fc.option(fc.array(limit, { maxLength: 3 }), { nil: undefined }))
  .map(([single, allowed, limits]) => ({
    ...single,
    allowed,
    limits: limits?.map((one, i) => ({ ...one, name: String(i) })),
  }))

it.each(HEADER_STYLES)("says in lines of %s what the list of headers says, whatever came before", (style) => {
  fc.assert(
    fc.property(fc.array(decision, { minLength: 1, maxLength: 8 }), (decisions) => {
      const own = [...policies]
      for (const one of decisions)
        expect(headerLines(style, own).write(one)).toBe(oneByOne(headerList(style, own)(one)))
    }),
  )
})

it("follows what is left from one denial to the next, and to what is allowed", () => {
  const own = [...policies]
  const same = { limit: 5, retryAfterMs: 1_000, resetAfterMs: 2_000, resetAt: 1_800_000_000_000 }
  for (const remaining of [0, 0, 2, 1, 1, 0])
    for (const allowed of [false, false, true]) {
      const one = { ...same, remaining, allowed }
      expect(headerLines("both", own).write(one)).toBe(oneByOne(headerList("both", own)(one)))
    }
})

it("names the headers of what is allowed", () => {
  expect(headerLines("both", policies).names).toEqual([
    "x-ratelimit-limit",
    "x-ratelimit-remaining",
    "x-ratelimit-reset",
    "ratelimit-policy",
    "ratelimit",
  ])
  expect(headerLines("none", policies).names).toEqual([])
})

it("keeps the texts of the same limits", () => {
  expect(headerLines("both", policies)).toBe(headerLines("both", policies))
  expect(headerLines("legacy", policies)).not.toBe(headerLines("both", policies))
})
