import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { ReplyWriter } from "./reply-writer.js"

function written(write: (reply: ReplyWriter) => void, protocol: 2 | 3 = 2): string {
  const reply = new ReplyWriter()
  reply.protocol = protocol
  write(reply)
  return reply.written().toString()
}

describe("a reply", () => {
  it("is the five integers of redis-cell", () => {
    expect(written((reply) => reply.decision(true, 16, 15, -1, 2))).toBe(
      "*5\r\n:0\r\n:16\r\n:15\r\n:-1\r\n:2\r\n",
    )
    expect(written((reply) => reply.decision(false, 16, 0, 12_345, 0))).toBe(
      "*5\r\n:1\r\n:16\r\n:0\r\n:12345\r\n:0\r\n",
    )
  })

  it("has the limit of its own decision, whatever the previous one had", () => {
    const limit = fc.oneof(
      fc.constantFrom(1, 9_999, 10_000, 1_000_000_000, 2 ** 50),
      fc.nat({ max: 2 ** 31 }),
    )
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), limit), { maxLength: 9 }), (decisions) => {
        const text = written((reply) => {
          for (const [allowed, most] of decisions) reply.decision(allowed, most, 3, allowed ? -1 : 4, 5)
        })
        const expected = decisions.map(
          ([allowed, most]) =>
            `*5\r\n:${allowed ? 0 : 1}\r\n:${most}\r\n:3\r\n:${allowed ? -1 : 4}\r\n:5\r\n`,
        )
        expect(text).toBe(expected.join(""))
      }),
    )
  })

  it("writes every integer in decimal", () => {
    const numbers = fc.oneof(fc.maxSafeInteger(), fc.integer(), fc.integer({ min: -1_000, max: 1_000 }))
    fc.assert(
      fc.property(numbers, (value) => written((reply) => reply.integer(value)) === `:${value}\r\n`),
      { numRuns: 2_000 },
    )
    for (let power = 1; power < 2 ** 53; power *= 10)
      for (const value of [power - 1, power, power + 1])
        expect(written((reply) => reply.integer(value))).toBe(`:${value}\r\n`)
  })

  it("uses arrays in RESP2 for the types of RESP3", () => {
    const write = (reply: ReplyWriter) => {
      reply.map(1)
      reply.bulk("é")
      reply.nothing()
      reply.verbatim("text")
    }
    expect(written(write, 2)).toBe("*2\r\n$2\r\né\r\n$-1\r\n$4\r\ntext\r\n")
    expect(written(write, 3)).toBe("%1\r\n$2\r\né\r\n_\r\n=8\r\ntxt:text\r\n")
  })

  it("keeps an error on one line, whatever it quotes", () => {
    expect(written((reply) => reply.error("ERR got 'a\r\n+OK'"))).toBe("-ERR got 'a  +OK'\r\n")
  })

  it("grows the buffer for a long reply", () => {
    const long = "x".repeat(100_000)
    expect(written((reply) => [reply.simple("OK"), reply.bulk(long)])).toBe(`+OK\r\n$100000\r\n${long}\r\n`)
  })
})

it("does not overwrite bytes that are still being sent", () => {
  const reply = new ReplyWriter()
  reply.simple("first")
  const kept = reply.written()
  reply.clear(true)
  reply.simple("other")
  expect(kept.toString()).toBe("+first\r\n")
  reply.clear(false)
  expect(reply.length).toBe(0)
})
