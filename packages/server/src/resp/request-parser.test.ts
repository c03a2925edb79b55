import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { BROKEN, INCOMPLETE, RequestParser } from "./request-parser.js"

const limits = { arguments: 8, bytes: 1_000 }

/** Everything in the bytes: the arguments of each command, and how it ended. */
function parse(text: string | Buffer) {
  const bytes = Buffer.from(text as string, "latin1")
  const parser = new RequestParser(limits)
  const found: string[][] = []
  let at = 0
  while (at < bytes.length) {
    const next = parser.parse(bytes, at)
    if (next === INCOMPLETE) return { found, end: "incomplete" }
    if (next === BROKEN) return { found, end: parser.mistake }
    expect(next).toBeGreaterThan(at)
    at = next
    found.push(Array.from({ length: parser.count }, (_, i) => parser.raw(i).toString("latin1")))
  }
  return { found, end: "done" }
}

function encode(args: readonly string[]): string {
  return `*${args.length}\r\n${args.map((arg) => `$${arg.length}\r\n${arg}\r\n`).join("")}`
}

const anyArgument = fc.string({
  unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
})
const anyCommand = fc.array(anyArgument, { minLength: 1, maxLength: 8 })

describe("a command", () => {
  it("is parsed to the same arguments, whatever bytes they contain", () => {
    fc.assert(
      fc.property(fc.array(anyCommand, { maxLength: 5 }), (commands) => {
        expect(parse(commands.map(encode).join(""))).toEqual({ found: commands, end: "done" })
      }),
    )
  })

  it("is incomplete until its last byte", () => {
    fc.assert(
      fc.property(anyCommand, fc.nat(), (command, cut) => {
        const whole = encode(command)
        expect(parse(whole.slice(0, 1 + (cut % (whole.length - 1))))).toEqual({
          found: [],
          end: "incomplete",
        })
      }),
    )
  })

  it("may be inline, between others", () => {
    const text = `PING\r\n${encode(["ECHO", "a"])}ECHO "b c"\n`
    expect(parse(text)).toEqual({ found: [["PING"], ["ECHO", "a"], ["ECHO", "b c"]], end: "done" })
  })

  it("has no arguments when it is empty", () => {
    expect(parse("*0\r\n\r\n*-1\r\n*-0\r\nPING\r\n")).toEqual({
      found: [[], [], [], [], ["PING"]],
      end: "done",
    })
  })

  it.each([
    ["*9\r\n", "invalid multibulk length"],
    ["*x\r\n", "invalid multibulk length"],
    ["*\r\n", "invalid multibulk length"],
    ["*-\r\n", "invalid multibulk length"],
    ["*1\n", "invalid multibulk length"],
    ["*99999999999999999999\r\n", "invalid multibulk length"],
    ["*1\r\n:1\r\n", "expected '$', got ':'"],
    ["*1\r\n\r\n", "expected '$', got ' '"],
    ["*1\r\n$-1\r\n", "invalid bulk length"],
    ["*1\r\n$1001\r\n", "invalid bulk length"],
    ["*1\r\n$4x\r\n", "invalid bulk length"],
    ["*1\r\n$1\r\nab\r\n", "expected CRLF after an argument"],
    [`*2\r\n$600\r\n${"x".repeat(600)}\r\n$600\r\n`, "invalid bulk length"],
    ["x".repeat(1_001), "too big inline request"],
    [`${"x".repeat(1_001)}\n`, "too big inline request"],
    ["a b c d e f g h i\n", "too many words in request"],
    ['ECHO "\n', "unbalanced quotes in request"],
  ])("%j is broken: %s", (text, mistake) => {
    expect(parse(text)).toEqual({ found: [], end: `Protocol error: ${mistake}` })
  })

  it("can have smaller limits", () => {
    const parser = new RequestParser(limits)
    const few = { arguments: 2, bytes: 100 }
    expect(parser.parse(Buffer.from(encode(["a", "b", "c"])), 0, few)).toBe(BROKEN)
    expect(parser.parse(Buffer.from(encode(["x".repeat(100)])), 0, few)).toBe(BROKEN)
    expect(parser.parse(Buffer.from(encode(["a", "b"])), 0, few)).toBeGreaterThan(0)
  })
})
