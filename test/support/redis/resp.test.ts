import { expect, it } from "vitest"
import { encodeCommand, parseReply, RespError } from "./resp.js"

const parse = (text: string) => parseReply(Buffer.from(text), 0)?.reply

it("encodes lengths in bytes, not characters", () => {
  expect(encodeCommand(["SET", "é", 1]).toString()).toBe("*3\r\n$3\r\nSET\r\n$2\r\né\r\n$1\r\n1\r\n")
})

it("reads every RESP2 type", () => {
  expect(parse("+OK\r\n")).toBe("OK")
  expect(parse(":-7\r\n")).toBe(-7)
  expect(parse("$-1\r\n")).toBeNull()
  expect(parse("$0\r\n\r\n")).toBe("")
  expect(parse("*-1\r\n")).toBeNull()
  expect(parse("*2\r\n$1\r\na\r\n*1\r\n:1\r\n")).toEqual(["a", [1]])
  expect(parse("-MOVED 1 127.0.0.1:7000\r\n")).toEqual(new RespError("MOVED 1 127.0.0.1:7000"))
})

it("waits for the last byte of a reply", () => {
  const whole = "*2\r\n$5\r\nab\r\nc\r\n:12\r\n"
  for (let end = 0; end < whole.length; end++) expect(parse(whole.slice(0, end))).toBeUndefined()
  expect(parse(whole)).toEqual(["ab\r\nc", 12])
})

it.each(["%1\r\n", "_\r\n", ":1.5\r\n", "$-2\r\n", "$1\r\nabc", "HTTP/1.1 400\r\n"])("refuses %j", (text) => {
  expect(() => parse(text)).toThrow()
})
