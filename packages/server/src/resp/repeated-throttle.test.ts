import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { viewOf } from "./byte-view.js"
import { parseInteger } from "./integer.js"
import { RepeatedThrottle } from "./repeated-throttle.js"
import { RequestParser } from "./request-parser.js"
import { encode } from "./started.test-support.js"
import { type Terms, TermsCache } from "./terms.js"

const parser = new RequestParser({ arguments: 8, bytes: 1_000 })
const cache = new TermsCache()

/** Reads a command in full, and remembers it. */
function read(repeated: RepeatedThrottle, text: string, at = 0): Terms {
  const bytes = Buffer.from(text, "latin1")
  parser.parse(bytes, at)
  const [maxBurst, count, period, cost = 1] = numbers()
  const terms = cache.get(maxBurst as number, count as number, period as number)
  repeated.remember(parser, terms, cost)
  return terms
}

/** What stands behind the key of the command in the parser. */
function numbers(): number[] {
  return Array.from({ length: parser.count - 2 }, (_, i) =>
    parseInteger(parser.bytes, parser.starts[i + 2] as number, parser.ends[i + 2] as number),
  )
}

/** What is found in a text: the key, its terms and its cost. */
function find(repeated: RepeatedThrottle, text: string, at = 0) {
  const bytes = Buffer.from(text, "latin1")
  if (!repeated.find(viewOf(bytes), at, bytes.length)) return undefined
  const { keyStart, keyEnd, next, terms, cost } = repeated
  return { key: bytes.toString("latin1", keyStart, keyEnd), next, terms, cost }
}

const anyNumber = fc.oneof(fc.integer({ min: 1, max: 99 }), fc.integer({ min: 1, max: 10_000 }))
const anyTerms = fc.tuple(anyNumber, anyNumber, anyNumber)
const anyCost = fc.option(fc.integer({ min: 0, max: 1_000 }), { nil: undefined })

function command(
  key: string,
  terms: readonly number[],
  cost: number | undefined,
  name = "CL.THROTTLE",
): string {
  return cost === undefined ? encode(name, key, ...terms) : encode(name, key, ...terms, cost)
}

describe("a command read before", () => {
  it("is found with any key of at most 99 bytes, wherever it stands", () => {
    const byte = fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code))
    const key = fc.string({ unit: byte, maxLength: 99 })
    const around = fc.string({ maxLength: 9 })
    fc.assert(
      fc.property(key, key, anyTerms, anyCost, around, (first, other, terms, cost, before) => {
        const repeated = new RepeatedThrottle()
        const known = read(repeated, command(first, terms, cost))
        const text = command(other, terms, cost)
        const found = find(repeated, `${before}${text}PING`, before.length)
        expect(found).toEqual({
          key: other,
          next: before.length + text.length,
          terms: known,
          cost: cost ?? 1,
        })
      }),
    )
  })

  it("is not found before its last byte is there", () => {
    const repeated = new RepeatedThrottle()
    const text = command("user:42", [15, 30, 60], 2)
    read(repeated, text)
    for (let end = 0; end < text.length; end++) expect(find(repeated, text.slice(0, end))).toBeUndefined()
    expect(find(repeated, text)).toBeDefined()
  })

  it("is found only where the parser reads the same, whatever byte is another", () => {
    fc.assert(
      fc.property(anyTerms, anyCost, fc.nat(), fc.nat({ max: 127 }), (terms, cost, place, byte) => {
        const repeated = new RepeatedThrottle()
        const text = command("user:42", terms, cost)
        read(repeated, text)
        const at = place % text.length
        const other = text.slice(0, at) + String.fromCharCode(byte) + text.slice(at + 1)
        const found = find(repeated, other)
        if (found === undefined) return
        expect(parser.parse(Buffer.from(other, "latin1"), 0)).toBe(found.next)
        expect([parser.text(0), parser.text(1)]).toEqual(["CL.THROTTLE", found.key])
        expect(numbers()).toEqual(cost === undefined ? terms : [...terms, cost])
      }),
      { numRuns: 3_000 },
    )
  })

  it("is found among others, as many as share its place", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anyTerms, anyCost), { minLength: 1, maxLength: 200 }), (asked) => {
        const repeated = new RepeatedThrottle()
        for (const [terms, cost] of asked) read(repeated, command("a", terms, cost))
        for (const [terms, cost] of asked) {
          const [maxBurst, count, period] = terms
          const found = find(repeated, command("b", terms, cost))
          if (found !== undefined)
            expect(found).toMatchObject({ cost: cost ?? 1, terms: { maxBurst, count, period } })
        }
      }),
    )
  })

  it("is another one with its name in other letters, until that was read too", () => {
    const repeated = new RepeatedThrottle()
    read(repeated, command("k", [1, 1, 60], undefined))
    const small = command("k", [1, 1, 60], undefined, "cl.throttle")
    expect(find(repeated, small)).toBeUndefined()
    read(repeated, small)
    expect(find(repeated, small)).toBeDefined()
  })
})
