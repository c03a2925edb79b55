import { readFileSync } from "node:fs"
import fc from "fast-check"
import { afterAll, beforeAll, expect, it } from "vitest"
import { floorTo, mulDivCeil, mulDivFloor } from "../../packages/sluice/src/algorithms/exact.js"
import type { RespConnection } from "../support/redis/resp-connection.js"
import { type RedisServer, startRedis } from "../support/redis/single.js"

const CASES = 2_000

let server: RedisServer
let connection: RespConnection

beforeAll(async () => {
  server = await startRedis()
  connection = await server.connect({ encoding: "latin1" })
})
afterAll(async () => {
  connection.close()
  await server.stop()
})

const part = readFileSync(
  new URL("../../packages/sluice/src/stores/redis/scripts/exact.lua", import.meta.url),
  "utf8",
)

/** The Lua part, followed by a loop that tries it on every triple it is given. */
const script = `${part}
local results, at = {}, 1
for i = 1, #ARGV[1] / 24 do
  local a, b, c
  a, b, c, at = struct.unpack("<ddd", ARGV[1], at)
  results[i] = struct.pack("<ddd", mul_div_floor(a, b, c), mul_div_ceil(a, b, c), floor_to(a, c))
end
return table.concat(results)`

const whole = (max: number) =>
  fc.oneof(fc.integer({ min: 0, max }), fc.integer({ min: 0, max: Math.min(max, 100) }))

/** In every use one factor is at most the divisor, so that the result is no larger than the other. */
const triples = fc
  .tuple(whole(2 ** 53 - 1), whole(2 ** 50), whole(2 ** 50), fc.constantFrom(-1, 0, 1, undefined))
  .map(([a, b, c, near]) => {
    const divisor = Math.max(c, 1)
    const factor = Math.min(b, divisor)
    if (near === undefined || factor === 0) return [a, factor, divisor] as const
    // Products one unit off a multiple of the divisor are where a rounded quotient is wrong.
    return [
      Math.max(0, Math.floor((Math.floor(a / 2 ** 20) * divisor) / factor) + near),
      factor,
      divisor,
    ] as const
  })
  .filter(([a]) => a <= Number.MAX_SAFE_INTEGER)

it("the arithmetic in Lua gives the same bits as that in TypeScript, and both the right ones", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(triples, { minLength: CASES, maxLength: CASES, size: "max" }),
      async (cases) => {
        const blob = Buffer.from(new Float64Array(cases.flat()).buffer).toString("latin1")
        const reply = Buffer.from(String(await connection.command("EVAL", script, 0, blob)), "latin1")
        cases.forEach(([a, b, c], i) => {
          const found = [0, 8, 16].map((offset) => reply.readDoubleLE(i * 24 + offset))
          expect([a, b, c, ...found]).toEqual([
            a,
            b,
            c,
            mulDivFloor(a, b, c),
            mulDivCeil(a, b, c),
            floorTo(a, c),
          ])
          const [product, divisor] = [BigInt(a) * BigInt(b), BigInt(c)]
          expect([a, b, c, BigInt(found[0] as number)]).toEqual([a, b, c, product / divisor])
          expect([a, b, c, BigInt(found[1] as number)]).toEqual([a, b, c, (product + divisor - 1n) / divisor])
        })
      },
    ),
    { numRuns: 10, endOnFailure: true },
  )
})
