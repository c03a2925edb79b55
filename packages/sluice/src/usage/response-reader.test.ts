import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { answers } from "../../../../test/support/model-answers.js"
import { weightedSum, weightsOf } from "./fields.js"
import { responseReader } from "./response-reader.js"

const encoder = new TextEncoder()

function read(
  text: string | Uint8Array,
  contentType: string,
  fields: string[],
  cuts: readonly number[] = [],
) {
  const bytes = typeof text === "string" ? encoder.encode(text) : text
  const reader = responseReader(fields, contentType)
  if (reader === undefined) return undefined
  let from = 0
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    const to = Math.min(bytes.length, cut)
    // The caller may reuse the bytes after `write`.
    const piece = bytes.slice(from, to)
    reader.write(piece)
    piece.fill(0x22)
    from = to
  }
  reader.write(bytes.slice(from))
  const { values, isComplete } = reader.end(true)
  return { values: Object.fromEntries(values), isComplete }
}

const json = (text: string, ...fields: string[]) => read(text, "application/json", fields)?.values
const events = (text: string, ...fields: string[]) => read(text, "text/event-stream", fields)?.values
const lines = (text: string, ...fields: string[]) => read(text, "application/x-ndjson", fields)?.values

describe("responseReader", () => {
  it.each(answers)("finds the usage in $name", ({ contentType, body, usage }) => {
    const found = read(body, contentType, Object.keys(usage))
    expect(found).toEqual({ values: usage, isComplete: true })
  })

  it.each(answers)("finds the same in $name, however its bytes are cut", ({ contentType, body, usage }) => {
    const fields = Object.keys(usage)
    const whole = read(body, contentType, fields)
    fc.assert(
      fc.property(fc.array(fc.nat(encoder.encode(body).length), { maxLength: 40 }), (cuts) => {
        expect(read(body, contentType, fields, cuts)).toEqual(whole)
      }),
      { numRuns: 50 },
    )
    const each = Array.from({ length: encoder.encode(body).length }, (_, i) => i)
    expect(read(body, contentType, fields, each)).toEqual(whole)
  })

  it("agrees with JSON.parse on any document, however it is cut", () => {
    const name = fc.constantFrom("usage", "total", "a", "b.c", 'q"', "ü", "response")
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.nat(1e9),
        fc.string({ unit: "binary" }),
        fc.constantFrom(null, true, 1.5, -3, "}", '\\"'),
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(name, tie("tree"), { maxKeys: 4 }),
      ),
    }))
    const document = fc.dictionary(name, tree, { maxKeys: 4 })
    const cuts = fc.array(fc.nat(2_000), { maxLength: 20 })
    fc.assert(
      fc.property(document, fc.constantFrom(0, 2), cuts, (value, indent, at) => {
        const text = JSON.stringify(value, null, indent)
        const expected: Record<string, number> = {}
        for (const path of ["usage.total", "a.usage", "total"]) {
          // The last place in the text counts.
          for (const parent of Object.keys(value)) {
            const [first, ...rest] = path.split(".")
            const inner = parent === "response" ? valueAt(value.response, path.split(".")) : undefined
            const own = parent === first ? valueAt(value[parent], rest) : undefined
            const found = inner ?? own
            if (typeof found === "number" && found >= 0) expected[path] = found
          }
        }
        const found = read(text, "application/json", ["usage.total", "a.usage", "total"], at)
        expect(found).toEqual({ values: expected, isComplete: true })
      }),
      { numRuns: 150 },
    )
  })

  it("survives any bytes, and finds the same however they are cut", () => {
    const part = fc.constantFrom(
      '{"u":',
      "{",
      "}",
      "[",
      "]",
      '"',
      "\\",
      "1",
      ",",
      "data: ",
      "data:",
      "\n",
      "\r",
      "\n\n",
      ":",
      "é",
      "null",
    )
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 40 }).map((parts) => parts.join("")),
        fc.constantFrom("application/json", "text/event-stream", "application/x-ndjson"),
        fc.array(fc.nat(80), { maxLength: 10 }),
        (text, type, cuts) => {
          expect(read(text, type, ["u"], cuts)).toEqual(read(text, type, ["u"]))
        },
      ),
      { numRuns: 1_000 },
    )
  })

  it("takes the last event that has the field", () => {
    const text =
      'data: {"usage":{"t":1}}\n\ndata: {"usage":{"t":7}}\n\ndata: {"usage":null}\n\ndata: [DONE]\n\n'
    expect(events(text, "usage.t")).toEqual({ "usage.t": 7 })
  })

  it("reads events with any line end, without the space, of several lines, and after a byte order mark", () => {
    expect(events('data:{"t":1}\r\n\r\n', "t")).toEqual({ t: 1 })
    expect(events('data:{"t":2}\r\r', "t")).toEqual({ t: 2 })
    expect(events('event: x\ndata: {"t":\ndata: 3}\nid: 1\n\n', "t")).toEqual({ t: 3 })
    expect(events('\u{feff}data: {"t":4}\n\n', "t")).toEqual({ t: 4 })
    expect(events(': {"t":5}\ndatax: {"t":6}\nevent: {"t":7}\n\n', "t")).toEqual({})
  })

  it("goes on after an event or a line that is not JSON", () => {
    expect(events('data: {"t":{\n\ndata: {"t":2}\n\ndata: {"t"!\n\n', "t")).toEqual({ t: 2 })
    expect(lines('{"t":1}\n{"t":"\n{"t":3}\nerror\n', "t")).toEqual({ t: 3 })
    expect(lines('{"t":1}\n{"t":2}', "t")).toEqual({ t: 2 })
  })

  it("does not take a field of an object that is cut", () => {
    expect(json('{"usage":{"t":12', "usage.t")).toEqual({})
    expect(json('{"usage":{"t":12},"x":[', "usage.t")).toEqual({})
    expect(read('{"usage":{"t":12}', "application/json", ["usage.t"])?.isComplete).toBe(false)
  })

  it("does not read fields in texts and lists, which models write", () => {
    const content = JSON.stringify('{"usage":{"t":0}}')
    expect(json(`{"usage":{"t":9},"content":${content},"tools":[{"usage":{"t":0}}]}`, "usage.t")).toEqual({
      "usage.t": 9,
    })
  })

  it("ignores values that are no amounts", () => {
    for (const value of ["-1", '"12"', "1e99", "true", "null", "{}", "[5]", "9".repeat(400), "0x1"])
      expect(json(`{"t":${value}}`, "t"), value).toEqual({})
    expect(json('{"t":0}', "t")).toEqual({ t: 0 })
    expect(json('{"t":1.5}', "t")).toEqual({ t: 1.5 })
  })

  it("finds a field whatever its case and escapes", () => {
    expect(json('{"us\\u0061ge":{"Total":3}}', "usage.total")).toEqual({ "usage.total": 3 })
  })

  it("reads a list of answers like a stream", () => {
    expect(json('[{"u":{"t":1}},\n{"u":{"t":2}}]', "u.t")).toEqual({ "u.t": 2 })
  })

  it("reads no other types", () => {
    expect(read("{}", "text/html", ["t"])).toBeUndefined()
    expect(responseReader(["t"], undefined)).toBeUndefined()
    expect(read('{"t":1}', "Application/Problem+JSON; charset=utf-8", ["t"])?.values).toEqual({ t: 1 })
  })

  it("stops after 64 MiB, and says that it has not seen all", () => {
    const reader = responseReader(["t"], "application/x-ndjson")
    reader?.write(encoder.encode('{"t":1}\n'))
    const piece = encoder.encode(`{"x":"${"y".repeat(1 << 20)}"}\n`)
    for (let i = 0; i < 64; i++) reader?.write(piece)
    reader?.write(encoder.encode('{"t":2}\n'))
    expect(reader?.end(true)).toEqual({ values: new Map([["t", 1]]), isComplete: false })
  })

  it("keeps nothing of what it reads: neither depth nor length costs memory", () => {
    const reader = responseReader(["usage.t"], "application/json")
    const deep = encoder.encode('{"a":['.repeat(10_000))
    const before = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed
    for (let i = 0; i < 100; i++) reader?.write(deep)
    const after = process.memoryUsage().arrayBuffers + process.memoryUsage().heapUsed
    expect(after - before).toBeLessThan(8 << 20)
    expect(reader?.end(true).isComplete).toBe(false)
  })
})

describe("weightedSum", () => {
  it("adds the values by their weights, and is undefined if there is none", () => {
    const weights = weightsOf({ "usage.input_tokens": 1, "usage.output_tokens": 4 })
    expect(weightedSum(weights, new Map([["usage.output_tokens", 5]]))).toBe(20)
    expect(weightedSum(weights, new Map())).toBeUndefined()
  })
})

function valueAt(value: unknown, names: readonly string[]): unknown {
  let found = value
  for (const name of names) {
    if (typeof found !== "object" || found === null || Array.isArray(found)) return undefined
    found = Object.hasOwn(found, name) ? (found as Record<string, unknown>)[name] : undefined
  }
  return found
}
