import { connectRedis } from "sluice/redis"
import { afterEach, describe, expect, it } from "vitest"
import { reservePort } from "../../../../test/support/ports.js"
import { type TestCore, testCore } from "../core.test-support.js"
import { createJsonHandler, type JsonHandlerOptions } from "./json-handler.js"

const cleanUps: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

const RULES = `
version: 1
rules:
  - id: per-user
    match: { domain: edge, descriptor: [{ key: user }] }
    keyBy: descriptor
    onStoreFailure: deny
    limits: [{ algorithm: fixed-window, limit: 2, window: 1m }]
`

function start(core: TestCore, options: JsonHandlerOptions = {}) {
  const errors: unknown[] = []
  const handle = createJsonHandler(core, { onError: (error) => errors.push(error), ...options })
  cleanUps.push(() => core.close())
  return {
    errors,
    async ask(question: unknown) {
      const text = typeof question === "string" ? question : JSON.stringify(question)
      const { status, type, body } = await handle(Buffer.from(text))
      return { status, type, json: JSON.parse(body) as Record<string, unknown> }
    },
  }
}

const entries = [{ key: "user", value: "42" }]

describe("POST /json", () => {
  it("answers 200 with the protobuf JSON of envoyproxy/ratelimit, and 429 over the limit", async () => {
    const core = testCore(RULES)
    core.clock.advance(20_000.25)
    const { ask } = start(core)
    const question = { domain: "edge", descriptors: [{ entries }] }
    expect(await ask(question)).toEqual({
      status: 200,
      type: "application/json",
      json: {
        overallCode: "OK",
        statuses: [
          {
            code: "OK",
            currentLimit: { requestsPerUnit: 2, unit: "MINUTE", name: "2/1m" },
            limitRemaining: 1,
            durationUntilReset: "40s",
          },
        ],
      },
    })
    await ask(question)
    const denied = await ask(question)
    expect(denied.status).toBe(429)
    expect(denied.json).toMatchObject({ overallCode: "OVER_LIMIT", statuses: [{ code: "OVER_LIMIT" }] })
    expect(core.decided.map(({ protocol }) => protocol)).toEqual(["json", "json", "json"])
  })

  it("accepts the names of the proto file, and numbers as text", async () => {
    const { ask } = start(testCore(RULES))
    const limit = { requests_per_unit: "10", unit: "DAY" }
    const looked = await ask({
      domain: "edge",
      descriptors: [{ entries, limit, hits_addend: "3" }],
      hits_addend: 9,
    })
    expect(looked.json).toMatchObject({ statuses: [{ limitRemaining: 7, currentLimit: { unit: "DAY" } }] })
    const peeked = await ask({
      domain: "edge",
      descriptors: [{ entries, limit: { ...limit, unit: 4 }, hitsAddend: 0 }],
    })
    expect(peeked.json).toMatchObject({ statuses: [{ limitRemaining: 7 }] })
  })

  it("includes the headers to add if configured", async () => {
    const { ask } = start(testCore(RULES), { responseHeaders: true })
    const { json } = await ask({ domain: "edge", descriptors: [{ entries }] })
    expect(json.responseHeadersToAdd).toContainEqual({ key: "x-ratelimit-remaining", value: "1" })
  })

  it.each([
    ["BODY_INVALID_JSON", "{"],
    ["BODY_NOT_OBJECT", "[]"],
    ["BODY_UNKNOWN_FIELD", { domain: "edge", descriptor: [] }],
    ["BODY_UNKNOWN_FIELD", { domain: "edge", descriptors: [{ entries: [{ key: "a", val: "b" }] }] }],
    ["BODY_FIELD_INVALID", { domain: 1, descriptors: [{ entries }] }],
    ["BODY_FIELD_INVALID", { domain: "", descriptors: [{ entries }] }],
    ["BODY_FIELD_INVALID", { domain: "edge", descriptors: [] }],
    ["BODY_FIELD_INVALID", { domain: "edge", descriptors: "all" }],
    ["BODY_FIELD_INVALID", { domain: "edge", descriptors: [7] }],
    ["BODY_FIELD_INVALID", { domain: "edge", descriptors: [{ entries: [null] }] }],
    ["BODY_FIELD_INVALID", { domain: "edge", descriptors: [{ entries }], hitsAddend: -1 }],
    ["BODY_FIELD_INVALID", { domain: "edge", descriptors: [{ entries }], hitsAddend: 4_294_967_296 }],
    ["BODY_FIELD_INVALID", { domain: "edge", descriptors: [{ entries, hitsAddend: 1.5 }] }],
    [
      "BODY_FIELD_INVALID",
      { domain: "edge", descriptors: [{ entries, limit: { requestsPerUnit: 1, unit: "FORTNIGHT" } }] },
    ],
    ["BODY_FIELD_INVALID", { domain: "edge", descriptors: Array.from({ length: 257 }, () => ({ entries })) }],
  ])("answers 400 with %s to %j", async (code, body) => {
    const { ask, errors } = start(testCore(RULES))
    const answer = await ask(body)
    expect(answer).toMatchObject({ status: 400, type: "application/problem+json", json: { code } })
    expect(errors).toEqual([])
  })

  it("answers 503 when the store has failed and the rule denies in that case", async () => {
    const { port, release } = await reservePort()
    cleanUps.push(release)
    const store = await connectRedis(`redis://127.0.0.1:${port}`)
    const { ask, errors } = start(testCore(RULES, { store }))
    const answer = await ask({ domain: "edge", descriptors: [{ entries }] })
    expect(answer).toMatchObject({ status: 503, json: { status: 503, rule: "per-user" } })
    expect(errors).toEqual([])
  })
})
