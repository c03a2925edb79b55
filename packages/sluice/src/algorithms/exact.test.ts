import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { floorTo, gcd, MAX_EXACT, mulDivCeil, mulDivFloor } from "./exact.js"
import { expectProperty, printSeed } from "./replay.test-support.js"

const CASES = 100_000
const PATIENCE = { timeout: 120_000 }

/** Any size with the same chance, and often right beside a power of two, where rounding changes its step. */
function wholeUpTo(most: number): fc.Arbitrary<number> {
  const exponents = fc.integer({ min: 0, max: Math.floor(Math.log2(most)) })
  return fc.oneof(
    fc
      .tuple(exponents, fc.maxSafeNat())
      .map(([exponent, n]) => Math.min(most, 2 ** exponent + (n % 2 ** exponent))),
    fc
      .tuple(exponents, fc.integer({ min: -3, max: 3 }))
      .map(([exponent, d]) => clamp(2 ** exponent + d, most)),
    fc.integer({ min: 0, max: 100 }).map((below) => clamp(most - below, most)),
  )
}

function clamp(value: number, most: number): number {
  return Math.min(Math.max(1, value), most)
}

const divisors = wholeUpTo(2 ** 50)
const factors = wholeUpTo(MAX_EXACT - 1)

/** Products within a few of a multiple of c: that is where a rounded quotient falls on the wrong side. */
const nearMultiples = fc
  .tuple(factors, divisors, factors, fc.integer({ min: -3, max: 3 }))
  .map(([a, c, quotient, d]) => {
    const b = (BigInt(quotient) * BigInt(c)) / BigInt(a) + BigInt(d)
    return [a, Number(b < 0n ? 0n : b), c] as const
  })

const products = fc
  .oneof(fc.tuple(factors, factors, divisors), nearMultiples)
  .map(([a, b, c]) => ({ a, b, c }))
  .filter(({ a, b, c }) => b < MAX_EXACT && (BigInt(a) * BigInt(b)) / BigInt(c) < BigInt(MAX_EXACT) - 1n)

printSeed()

describe("exact arithmetic", PATIENCE, () => {
  it("mulDivFloor is floor(a × b ÷ c)", () => {
    expectProperty(products, CASES, ({ a, b, c }) => {
      same(mulDivFloor(a, b, c), (BigInt(a) * BigInt(b)) / BigInt(c))
    })
  })

  it("mulDivCeil is ceil(a × b ÷ c)", () => {
    expectProperty(products, CASES, ({ a, b, c }) => {
      same(mulDivCeil(a, b, c), (BigInt(a) * BigInt(b) + BigInt(c) - 1n) / BigInt(c))
    })
  })

  it("floorTo is the last multiple, also right beside one", () => {
    const sizes = wholeUpTo(2 ** 50)
    const beside = fc.tuple(factors, sizes, fc.integer({ min: -2, max: 2 })).map(([time, size, d]) => {
      return [clamp(Math.floor(time / size) * size + d, MAX_EXACT - 1), size] as [number, number]
    })
    expectProperty(fc.oneof(beside, fc.tuple(factors, sizes)), CASES, ([time, size]) => {
      same(floorTo(time, size), (BigInt(time) / BigInt(size)) * BigInt(size))
    })
  })

  it("gcd divides both, and leaves nothing in common", () => {
    expectProperty(fc.tuple(factors, factors), 10_000, ([a, b]) => {
      const divisor = gcd(a, b)
      same(a % divisor, 0n)
      same(b % divisor, 0n)
      same(gcd(a / divisor, b / divisor), 1n)
    })
  })

  it("sees that a product of 2^53 + 1 was rounded", () => {
    const [a, b] = [321, 28_059_810_762_433]
    expect(BigInt(a) * BigInt(b)).toBe(2n ** 53n + 1n)
    expect(mulDivFloor(a, b, 3)).toBe(3_002_399_751_580_331)
    expect(mulDivCeil(a, b, 2 ** 50)).toBe(9)
  })
})

function same(found: number, expected: bigint): void {
  if (found !== Number(expected)) throw new Error(`expected ${expected}, found ${found}`)
}
