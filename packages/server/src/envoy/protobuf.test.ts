import { join } from "node:path"
import fc from "fast-check"
import protobuf from "protobufjs"
import { SluiceError } from "sluice"
import { describe, expect, it } from "vitest"
import { protoFolder } from "./grpc-client.test-support.js"
import { ProtobufError, ProtobufReader } from "./protobuf-reader.js"
import { ProtobufWriter } from "./protobuf-writer.js"
import { decodeRateLimitRequest, windowOf } from "./rate-limit-request.js"
import { type RateLimitResponse, writeRateLimitResponse } from "./rate-limit-response.js"

const types = new protobuf.Root()
types.resolvePath = (_, path) => (protobuf.common.get(path) === null ? join(protoFolder, path) : path)
types.loadSync("envoy/service/ratelimit/v3/rls.proto").resolveAll()
const Request = types.lookupType("envoy.service.ratelimit.v3.RateLimitRequest")
const Response = types.lookupType("envoy.service.ratelimit.v3.RateLimitResponse")

const text = fc.string({ unit: "grapheme", maxLength: 40 })
const uint32 = fc.integer({ min: 0, max: 0xffff_ffff })
const limit = fc.record({ requestsPerUnit: uint32, unit: fc.integer({ min: 1, max: 7 }) })
const request = fc.record({
  domain: text,
  hitsAddend: uint32,
  descriptors: fc.array(
    fc.record(
      {
        entries: fc.array(fc.record({ key: text, value: text }), { maxLength: 4 }),
        limit,
        hitsAddend: fc.record({ value: fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }) }),
      },
      { requiredKeys: ["entries"] },
    ),
    { maxLength: 5 },
  ),
})

function encode(message: object): Buffer {
  return Buffer.from(Request.encode(Request.fromObject(message)).finish())
}

describe("a RateLimitRequest", () => {
  it("is read as protobufjs wrote it", () => {
    fc.assert(
      fc.property(request, (message) => {
        expect(decodeRateLimitRequest(encode(message))).toEqual({
          domain: message.domain,
          hitsAddend: message.hitsAddend,
          descriptors: message.descriptors.map(({ entries, limit, hitsAddend }) => ({
            entries,
            cost: hitsAddend?.value,
            limit: limit && { limit: limit.requestsPerUnit, windowMs: windowOf(limit.unit) },
          })),
        })
      }),
    )
  })

  it("is read the same with unknown fields around it", () => {
    const known = encode({ domain: "edge", descriptors: [{ entries: [{ key: "a", value: "b" }] }] })
    const unknown = [
      "f8060a", // 111, varint
      `f906${"00".repeat(8)}`, // fixed64
      "fa0603616263", // bytes
      "fb06f80601fa060161fc06", // a group with fields
      "fd0600000000", // fixed32
      "0801", // the domain's number, as another type
    ]
    for (const hex of unknown) {
      const extra = Buffer.from(hex, "hex")
      expect(decodeRateLimitRequest(Buffer.concat([extra, known, extra]))).toEqual(
        decodeRateLimitRequest(known),
      )
    }
  })

  it("caps an addend beyond the exact integers", () => {
    const bytes = encode({ descriptors: [{ hitsAddend: { value: "18446744073709551615" } }] })
    expect(decodeRateLimitRequest(bytes).descriptors[0]?.cost).toBe(Number.MAX_SAFE_INTEGER)
  })

  it.each([
    ["longer than what is left", "0a05656467"],
    ["does not end", `18${"ff".repeat(10)}`],
    ["ends inside a field", "1880"],
    ["longer than what is left", "0a7f61"],
    ["longer than what is left", "12040a0261"],
    ["wire type 7", "0f"],
    ["wire type 4", "0c"],
    ["number 0", "0001"],
    ["not UTF-8", "0a02c328"],
    ["a group does not end", "fb06f80601"],
    ["nested deeper", "fb06".repeat(17)],
    ["ends inside a field", "f90600"],
  ])("is refused when it %s (%s)", (message, hex) => {
    const read = () => decodeRateLimitRequest(Buffer.from(hex, "hex"))
    expect(read).toThrow(ProtobufError)
    expect(read).toThrow(message)
  })

  it("is read or refused, whatever the bytes are", () => {
    const broken = fc
      .tuple(
        request,
        fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }),
        fc.nat(),
      )
      .map(([message, changes, cut]) => {
        const bytes = encode(message)
        for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte
        return bytes.subarray(0, bytes.length - (cut % 4 === 0 ? cut % (bytes.length + 1) : 0))
      })
    const bytes = fc.oneof(fc.uint8Array({ maxLength: 64 }).map(Buffer.from), broken)
    fc.assert(
      fc.property(bytes, (input) => {
        try {
          decodeRateLimitRequest(input)
        } catch (error) {
          if (error instanceof ProtobufError) return
          expect(error).toBeInstanceOf(SluiceError)
        }
      }),
      { numRuns: 5_000 },
    )
  })
})

describe("a RateLimitResponse", () => {
  it("is read by protobufjs with the same values", () => {
    const status = fc.record({
      code: fc.constantFrom(1 as const, 2 as const),
      currentLimit: fc.option(fc.record({ requestsPerUnit: uint32, unit: fc.nat({ max: 7 }), name: text }), {
        nil: undefined,
      }),
      limitRemaining: uint32,
      resetAfterMs: fc.option(
        fc.nat().map((micros) => micros / 1000),
        { nil: undefined },
      ),
    })
    const response: fc.Arbitrary<RateLimitResponse> = fc.record({
      overallCode: fc.constantFrom(1 as const, 2 as const),
      statuses: fc.array(status, { maxLength: 30 }),
      headers: fc.array(fc.tuple(text, fc.string({ maxLength: 300 }))).map((pairs) => pairs.flat()),
    })
    const writer = new ProtobufWriter()
    fc.assert(
      fc.property(response, (message) => {
        writeRateLimitResponse(writer, message)
        const read = Response.toObject(Response.decode(writer.finish()), {
          defaults: true,
          arrays: true,
          longs: Number,
        })
        expect(read.overall_code ?? read.overallCode).toBe(message.overallCode)
        expect(read.statuses.length).toBe(message.statuses.length)
        message.statuses.forEach(({ code, currentLimit, limitRemaining, resetAfterMs }, i) => {
          const ms = Math.ceil(resetAfterMs ?? 0)
          expect(read.statuses[i]).toEqual({
            code,
            currentLimit: currentLimit ?? null,
            limitRemaining,
            durationUntilReset:
              resetAfterMs === undefined
                ? null
                : { seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1e6 },
          })
        })
        const headers = read.responseHeadersToAdd.flatMap(({ key, value }: Record<string, string>) => [
          key,
          value,
        ])
        expect(headers).toEqual(message.headers)
      }),
    )
  })
})

describe("the reader", () => {
  it("never reads beyond the end of a nested message", () => {
    const reader = new ProtobufReader(Buffer.from("0a020a051001", "hex"))
    expect(reader.next()).toBe(true)
    const outer = reader.enter()
    expect(reader.next()).toBe(true)
    expect(() => reader.string()).toThrow(ProtobufError)
    reader.leave(outer)
    expect(reader.next()).toBe(true)
    expect([reader.field, reader.uint32()]).toEqual([2, 1])
  })
})
