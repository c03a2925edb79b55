import fc from "fast-check"
import { expect, it } from "vitest"
import { HEADER_STYLES, headerWriter } from "./headers.js"
import { isPlain, PlainHeaders } from "./plain-headers.js"

const decisions = fc.record({
  allowed: fc.constant(true),
  limit: fc.integer({ min: 1, max: 2_000_000_000 }),
  remaining: fc.integer({ min: 0, max: 2_000_000_000 }),
  retryAfterMs: fc.constant(0),
  resetAfterMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
  resetAt: fc.double({ min: 0, max: 4e12, noNaN: true }),
})

it.each(HEADER_STYLES)("are what the writer of all headers writes, in the style %s", (style) => {
  const policies = [{ name: 'a "name"', quota: 100, windowMs: 60_000 }]
  const plain = new PlainHeaders(style, policies)
  const writer = headerWriter({ style, policies })
  fc.assert(
    fc.property(fc.array(decisions, { minLength: 1, maxLength: 5 }), (row) => {
      // Twice each: the second time with what was kept of the first.
      for (const decision of row.flatMap((one) => [one, { ...one, remaining: one.remaining + 1 }])) {
        const written: string[] = []
        writer.write(decision, (name, value) => written.push(name, value))
        expect(plain.list(decision)).toEqual(written)
      }
    }),
  )
})

it("are not those of denials and of several limits", () => {
  const decision = {
    allowed: true,
    limit: 5,
    remaining: 4,
    retryAfterMs: 0,
    resetAfterMs: 1_000,
    resetAt: 1_000,
  }
  expect(isPlain(decision)).toBe(true)
  expect(isPlain({ ...decision, limits: [] })).toBe(true)
  expect(isPlain({ ...decision, allowed: false, retryAfterMs: 1 })).toBe(false)
  expect(isPlain({ ...decision, limits: [{ ...decision, name: "one" }] })).toBe(false)
})
