import { describe, expect, it } from "vitest"
import { headerBlock } from "./header-block.js"
import { type HeaderField, KIND } from "./header-field.js"
import { HpackDecoder } from "./hpack-decoder.js"

type Lines = readonly string[]

function decode(decoder: HpackDecoder, bytes: Buffer): string[] {
  const lines: string[] = []
  decoder.decode(bytes, 0, bytes.length, { add: ({ name, value }) => lines.push(`${name}: ${value}`) })
  return lines
}

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(/\s/g, ""), "hex")
}

const GET = [":method: GET", ":scheme: http", ":path: /", ":authority: www.example.com"]
const CUSTOM = [
  ":method: GET",
  ":scheme: https",
  ":path: /index.html",
  ":authority: www.example.com",
  "custom-key: custom-value",
]
const DATE = "date: Mon, 21 Oct 2013 20:13:21 GMT"
const MOVED = [":status: 302", "cache-control: private", DATE, "location: https://www.example.com"]
const COOKIE = [
  ":status: 200",
  "cache-control: private",
  "date: Mon, 21 Oct 2013 20:13:22 GMT",
  "location: https://www.example.com",
  "content-encoding: gzip",
  "set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1",
]

describe("the examples of RFC 7541, appendix C, decode as it says", () => {
  it.each<[string, string, Lines]>([
    [
      "C.2.1, literal, indexed",
      "400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572",
      ["custom-key: custom-header"],
    ],
    ["C.2.2, literal, not indexed", "040c 2f73 616d 706c 652f 7061 7468", [":path: /sample/path"]],
    ["C.2.3, literal, never indexed", "1008 7061 7373 776f 7264 0673 6563 7265 74", ["password: secret"]],
    ["C.2.4, indexed", "82", [":method: GET"]],
  ])("%s", (_, bytes, lines) => {
    expect(decode(new HpackDecoder(), hex(bytes))).toEqual(lines)
  })

  it.each<[string, number, readonly [string, Lines, number][]]>([
    [
      "C.3, requests in plain text",
      4_096,
      [
        ["8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d", GET, 57],
        ["8286 84be 5808 6e6f 2d63 6163 6865", [...GET, "cache-control: no-cache"], 110],
        ["8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65", CUSTOM, 164],
      ],
    ],
    [
      "C.4, requests in Huffman code",
      4_096,
      [
        ["8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff", GET, 57],
        ["8286 84be 5886 a8eb 1064 9cbf", [...GET, "cache-control: no-cache"], 110],
        ["8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf", CUSTOM, 164],
      ],
    ],
    [
      "C.5, responses in plain text, from a table that is too small for them",
      256,
      [
        [
          `4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133
           2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70
           6c65 2e63 6f6d`,
          MOVED,
          222,
        ],
        ["4803 3330 37c1 c0bf", [":status: 307", ...MOVED.slice(1)], 222],
        [
          `88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d
           54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049
           5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e
           3d31`,
          COOKIE,
          215,
        ],
      ],
    ],
    [
      "C.6, the same in Huffman code",
      256,
      [
        [
          `4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6
           2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3`,
          MOVED,
          222,
        ],
        ["4883 640e ffc1 c0bf", [":status: 307", ...MOVED.slice(1)], 222],
        [
          `88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab
           77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f
           9587 3160 65c0 03ed 4ee5 b106 3d50 07`,
          COOKIE,
          215,
        ],
      ],
    ],
  ])("%s", (_, tableSize, blocks) => {
    const decoder = new HpackDecoder()
    decoder.table.resize(tableSize)
    for (const [bytes, lines, size] of blocks) {
      expect(decode(decoder, hex(bytes))).toEqual(lines)
      expect(decoder.table.size).toBe(size)
    }
  })
})

describe("an invalid block ends the connection", () => {
  it.each([
    ["index 0", "80"],
    ["an index that nothing has", "be"],
    ["a name that nothing has", "7e 01 61"],
    ["a number that does not end", "ff ff ff ff ff ff 01"],
    ["the end inside a number", "ff"],
    ["the end inside a header", "40 01 61"],
    ["a text that is longer than its block", "40 01 61 05 61"],
    ["a table larger than was agreed", "3f e2 1f"],
    ["a table that changes behind a header", "82 20"],
    ["an end of text that is written out", "00 84 ff ff ff fc 01 61"],
    ["padding of zeros", "00 81 18 01 61"],
    ["padding of a whole byte", "00 82 1f ff 01 61"],
  ])("%s", (_, bytes) => {
    expect(() => decode(new HpackDecoder(), hex(bytes))).toThrow(
      expect.objectContaining({ code: "COMPRESSION_ERROR" }),
    )
  })
})

describe("the table of a connection", () => {
  it("may change its size between blocks, and holds nothing at 0", () => {
    const decoder = new HpackDecoder()
    decode(decoder, hex("4001 6101 62"))
    expect(decoder.table.size).toBe(34)
    expect(decode(decoder, hex("203f e11f 82"))).toEqual([":method: GET"])
    expect(decoder.table.size).toBe(0)
  })

  it("is emptied by a header that does not fit into it", () => {
    const decoder = new HpackDecoder()
    decode(decoder, hex("4001 6101 62"))
    const long = Buffer.alloc(5_000, "x")
    const bytes = Buffer.concat([hex("4001 61 7f 89 26"), long])
    expect(decode(decoder, bytes)).toEqual([`a: ${long}`])
    expect(decoder.table.size).toBe(0)
  })

  it("finds each header by its index, however often its ring has wrapped", () => {
    const decoder = new HpackDecoder()
    for (let i = 0; i < 1_000; i++) {
      const value = String(i).padStart(4, "0")
      decode(decoder, Buffer.from(`\x40\x01a\x04${value}`, "latin1"))
      const oldest = Math.max(0, i - Math.floor(4_096 / 37) + 1)
      const block = Buffer.of(0x80 | 62, 0x80 | (62 + Math.min(i - oldest, 64)))
      const older = String(i - Math.min(i - oldest, 64)).padStart(4, "0")
      expect(decode(decoder, block)).toEqual([`a: ${value}`, `a: ${older}`])
    }
  })
})

describe("encoded headers decode to the same headers", () => {
  it("for any headers", () => {
    const headers = { ":status": "200", "content-type": "application/grpc", "grpc-message": "x".repeat(400) }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
    expect(decode(new HpackDecoder(), headerBlock(headers))).toEqual(lines)
    expect(decode(new HpackDecoder(), headerBlock({ ":status": "431" }))).toEqual([":status: 431"])
  })
})

describe("a header that no request may have is marked as invalid", () => {
  const marked = (name: string, value: string): boolean => {
    const kinds: HeaderField[] = []
    const bytes = Buffer.concat([
      Buffer.of(0, name.length),
      Buffer.from(name, "latin1"),
      Buffer.of(value.length),
      Buffer.from(value, "latin1"),
    ])
    new HpackDecoder().decode(bytes, 0, bytes.length, { add: (field) => kinds.push(field) })
    return kinds[0]?.kind === KIND.MALFORMED
  }

  it.each([
    ["X-Upper", "a"],
    ["", "a"],
    ["a b", "c"],
    ["a:b", "c"],
    [":unknown", "a"],
    [":status", "200"],
    ["\xe9", "a"],
    ["connection", "close"],
    ["transfer-encoding", "chunked"],
    ["te", "gzip"],
    ["content-length", "-1"],
    ["content-length", "1e3"],
    ["a", "b\r\nc"],
    ["a", "b\0"],
    ["a", " b"],
    ["a", "b\t"],
  ])("%j: %j", (name, value) => {
    expect(marked(name, value)).toBe(true)
  })

  it.each([
    ["te", "trailers"],
    ["content-length", "12"],
    ["x-odd_but~fine", "a b\xff"],
    ["a", ""],
  ])("%j: %j is none", (name, value) => {
    expect(marked(name, value)).toBe(false)
  })
})
