import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { InvalidMessage } from "../../http1/fields.js"
import { type AnswerHead, AnswerParser, type Asked } from "./answer-parser.js"

interface Told {
  interim: number[]
  head: AnswerHead | undefined
  body: string
  trailers: readonly string[] | undefined
  switchedTo: string | undefined
  keepsAlive: boolean
  isWhole: boolean
}

function parse(pieces: readonly Buffer[], asked: Partial<Asked> = {}, ends = false): Told {
  const told: Told = {
    interim: [],
    head: undefined,
    body: "",
    trailers: undefined,
    switchedTo: undefined,
    keepsAlive: false,
    isWhole: false,
  }
  const parser = new AnswerParser({
    interim: (head) => void told.interim.push(head.status),
    head: (head) => {
      told.head = head
    },
    body: (bytes) => {
      told.body += bytes.toString("latin1")
    },
    ended: (trailers) => {
      told.trailers = trailers
    },
    switched: (head, rest) => {
      told.head = head
      told.switchedTo = rest.toString("latin1")
    },
  })
  parser.begin({ isHead: false, isUpgrade: false, ...asked })
  for (const piece of pieces) parser.read(piece)
  told.isWhole = ends ? parser.end() : parser.isOver
  told.keepsAlive = parser.keepsAlive
  return told
}

const parseText = (text: string, asked?: Partial<Asked>, ends?: boolean): Told =>
  parse([Buffer.from(text, "latin1")], asked, ends)

const answers: Record<string, string> = {
  "a length": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Name:  a value \t\r\n\r\nhello",
  "no body": "HTTP/1.1 204 No Content\r\n\r\n",
  "an empty reason": "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n",
  "no reason": "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n",
  chunks: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n",
  trailers:
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\nA\r\n0123456789\r\n0\r\nX-Sum: 1\r\nX-Two: 2\r\n\r\n",
  "interim answers":
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx",
}

describe("AnswerParser", () => {
  it("reads an answer with a length", () => {
    const told = parseText(answers["a length"] as string)
    expect(told.head).toMatchObject({ status: 200, reason: "OK", contentLength: 5, isChunked: false })
    expect(told.head?.headers).toEqual(["Content-Length", "5", "X-Name", "a value"])
    expect(told).toMatchObject({ body: "hello", isWhole: true, keepsAlive: true, trailers: [] })
  })

  it("decodes chunks, ignores their extensions and keeps their trailers", () => {
    expect(parseText(answers.chunks as string)).toMatchObject({
      body: "hello world",
      trailers: [],
      isWhole: true,
    })
    expect(parseText(answers.trailers as string)).toMatchObject({
      body: "0123456789",
      trailers: ["X-Sum", "1", "X-Two", "2"],
      keepsAlive: true,
    })
  })

  it("distinguishes interim answers from the final one", () => {
    const told = parseText(answers["interim answers"] as string)
    expect(told).toMatchObject({ interim: [100, 103], body: "x", isWhole: true })
  })

  it("expects no body after HEAD, 204 and 304, whatever their length says", () => {
    const text = (status: number) => `HTTP/1.1 ${status} X\r\nContent-Length: 10\r\n\r\n`
    expect(parseText(text(200), { isHead: true })).toMatchObject({
      isWhole: true,
      body: "",
      keepsAlive: true,
    })
    expect(parseText(text(204))).toMatchObject({ isWhole: true, body: "" })
    expect(parseText(text(304))).toMatchObject({ isWhole: true, body: "" })
    expect(parseText("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", { isHead: true }).isWhole).toBe(
      true,
    )
  })

  it("ends a body without a length, and no other, with the connection", () => {
    const untilClose = parseText("HTTP/1.1 200 OK\r\n\r\nall of it", {}, true)
    expect(untilClose).toMatchObject({ body: "all of it", isWhole: true, keepsAlive: false })
    expect(parseText("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nnot all", {}, true).isWhole).toBe(false)
    expect(
      parseText("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", {}, true).isWhole,
    ).toBe(false)
    expect(parseText("HTTP/1.1 200 OK\r\nContent-Le", {}, true).isWhole).toBe(false)
  })

  it("reuses a connection only if both sides want to", () => {
    const keeps = (start: string) => parseText(`${start}\r\nContent-Length: 0\r\n\r\n`).keepsAlive
    expect(keeps("HTTP/1.1 200 OK")).toBe(true)
    expect(keeps("HTTP/1.1 200 OK\r\nConnection: x, Close")).toBe(false)
    expect(keeps("HTTP/1.1 200 OK\r\nConnection: x-close-ish")).toBe(true)
    expect(keeps("HTTP/1.0 200 OK")).toBe(false)
    expect(keeps("HTTP/1.0 200 OK\r\nConnection: Keep-Alive")).toBe(true)
  })

  it("does not reuse a connection that sent more than one answer", () => {
    const told = parseText(`${answers["a length"]}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nstolen`)
    expect(told).toMatchObject({ body: "hello", isWhole: true, keepsAlive: false })
  })

  it("hands over the bytes after a protocol switch", () => {
    const text = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\nfirst bytes"
    expect(parseText(text, { isUpgrade: true })).toMatchObject({ switchedTo: "first bytes" })
    expect(() => parseText(text)).toThrow("switches protocols without being asked to")
  })

  it.each(Object.entries(answers))("reads %s the same wherever it is cut", (_name, text) => {
    const whole = parseText(text)
    const bytes = Buffer.from(text, "latin1")
    for (let at = 1; at < bytes.length; at++) {
      expect(parse([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole)
    }
    expect(parse([...bytes].map((byte) => Buffer.of(byte)))).toEqual(whole)
  })

  const lies: Record<string, string> = {
    "no HTTP": "SSH-2.0-OpenSSH_9.2\r\n\r\n",
    "HTTP/0.9": "hello\r\n\r\n",
    "HTTP/2": "HTTP/2 200 OK\r\n\r\n",
    "a version beyond": "HTTP/1.2 200 OK\r\n\r\n",
    "a blank line first": "\r\nHTTP/1.1 200 OK\r\n\r\n",
    "a status of two digits": "HTTP/1.1 20 OK\r\n\r\n",
    "a status of four digits": "HTTP/1.1 2000 OK\r\n\r\n",
    "a status below 100": "HTTP/1.1 099 OK\r\n\r\n",
    "a status that is none": "HTTP/1.1 2x0 OK\r\n\r\n",
    "a control character in the reason": "HTTP/1.1 200 O\x01K\r\n\r\n",
    "a bare LF after the status": "HTTP/1.1 200 OK\nX: 1\r\n\r\n",
    "a bare LF between headers": "HTTP/1.1 200 OK\r\nX: 1\nSet-Cookie: stolen=1\r\n\r\n",
    "a bare CR in a value": "HTTP/1.1 200 OK\r\nX: 1\rSet-Cookie: stolen=1\r\n\r\n",
    "NUL in a value": "HTTP/1.1 200 OK\r\nX: 1\x002\r\n\r\n",
    "a folded header": "HTTP/1.1 200 OK\r\nX: 1\r\n 2\r\n\r\n",
    "a blank before the colon": "HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello",
    "a header without a colon": "HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
    "a header without a name": "HTTP/1.1 200 OK\r\n: 5\r\n\r\n",
    "two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
    "the same length twice": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    "a list of lengths": "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\nhello",
    "a negative length": "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
    "a length with a sign": "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello",
    "a length in hexadecimal": "HTTP/1.1 200 OK\r\nContent-Length: 0x5\r\n\r\nhello",
    "an empty length": "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
    "a length beyond all": "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
    "length and chunks":
      "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "another transfer encoding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a transfer encoding twice":
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a chunk without a size": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\nhello",
    "a chunk size that is none": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5g\r\nhello\r\n",
    "a chunk size with a sign": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n",
    "a chunk size with a blank": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n",
    "a chunk size beyond all":
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nhello\r\n",
    "a chunk line with a bare LF": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n",
    "a chunk longer than it says":
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!\r\n0\r\n\r\n",
    "a chunk ended by LF alone": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n\r\n",
    "an endless chunk extension": `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;${"x".repeat(10_000)}`,
    "a malformed trailer": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno trailer\r\n\r\n",
    "a head without an end": `HTTP/1.1 200 OK\r\n${"X: 1\r\n".repeat(20_000)}`,
    "a large head": `HTTP/1.1 200 OK\r\n${"X: 1\r\n".repeat(20_000)}\r\n`,
    "a trailer without an end": `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${"X: 1\r\n".repeat(20_000)}`,
    "interim answers without an end": "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(100),
  }

  it.each(Object.entries(lies))("refuses %s, whole and byte by byte", (_name, text) => {
    expect(() => parseText(text)).toThrow(InvalidMessage)
    expect(() => parse([...Buffer.from(text, "latin1")].map((byte) => Buffer.of(byte)))).toThrow(
      InvalidMessage,
    )
  })

  it("throws nothing but InvalidMessage, and gives the same result however the bytes are split", () => {
    const piece = fc.constantFrom(
      ...["HTTP/1.1 200 OK\r\n", "HTTP/1.0 200 OK\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "\r\n", "\r", "\n"],
      ...["Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", "Connection: close\r\n", "X: \x80\r\n"],
      ...["3\r\nabc\r\n", "0\r\n\r\n", "abc", "\0", ":", ";", "ffff"],
    )
    const outcome = (pieces: Buffer[], asked: Partial<Asked>) => {
      try {
        return parse(pieces, asked, true)
      } catch (error) {
        if (!(error instanceof InvalidMessage)) throw error
        return error.name
      }
    }
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 10 }), fc.boolean(), fc.nat(), (parts, isHead, cutAt) => {
        const bytes = Buffer.from(parts.join(""), "latin1")
        const at = cutAt % (bytes.length + 1)
        const whole = outcome([bytes], { isHead })
        expect(outcome([bytes.subarray(0, at), bytes.subarray(at)], { isHead })).toEqual(whole)
      }),
      { numRuns: 3_000 },
    )
  })
})
